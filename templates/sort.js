// What the pages share: elements, the address, and tables whose rows sort and hide. A page has its own
// list of `tables`, its `rank` of a cell and its `filterRows`.
function el(tag,attributes,...inside){
  const made=document.createElement(tag);
  for(const [name,value] of Object.entries(attributes||{}))
    if(typeof value==="function")made.addEventListener(name,value);
    else if(value===true)made.setAttribute(name,"");
    else if(value!==false&&value!==undefined)made.setAttribute(name,value);
  made.append(...inside.filter(x=>x!==""&&x!==null&&x!==undefined));
  return made;
}
const grouped=s=>s.replace(/\B(?=(\d{3})+$)/g,",");
const status=el("p",{class:"sr",role:"status"});
document.body.append(status);
const say=text=>{status.textContent=text};
// #q=B200&batch=64 and such; any other address is an anchor of the page and none of our business.
function address(){
  const text=location.hash.slice(1);
  return new URLSearchParams(text.includes("=")?text:"");
}
function hash(name,value){
  const found=address();
  if(value===null||value==="")found.delete(name);else found.set(name,value);
  if(String(found)===String(address()))return;
  try{history.replaceState(null,"","#"+found)}catch{} // browsers refuse when it changes too often
}
// An anchor of the page asks for nothing new.
const asksNothing=()=>counted.textContent&&location.hash.length>1&&!location.hash.includes("=");

// ---- tables --------------------------------------------------------------------------------------
function rowsOf(table){
  const rows=[...table.tBodies[0].rows],made={table,heads:[...table.tHead.rows[0].cells],rows,body:[]};
  let group="";
  for(const row of rows){
    const first=row.cells[0];
    if(row.classList.contains("group")){group=first.textContent;continue}
    row.$group=group;
    row.$name=(group?group+" · ":"")+first.textContent;
    made.body.push(row);
  }
  return made;
}
// A table too wide for a screen stands in blocks of columns, which keep the same rows in one order.
function blocksOf({table}){
  const name=table.dataset.b;
  return tables.filter(t=>name?t.table.dataset.b===name:t.table===table);
}
function hideEmptyGroups({ordered,rows}){
  let head=null,open=false;
  for(const row of rows){
    if(row.classList.contains("group")){if(head)head.hidden=!open;head=row;open=false}
    else if(!row.hidden)open=true;
  }
  if(head)head.hidden=!open;
  if(ordered)for(const row of rows)if(row.classList.contains("group"))row.hidden=true;
}

// ---- sorting -------------------------------------------------------------------------------------
const NEXT={__proto__:null,ascending:"descending",descending:null};
function sortBy(made,index,next){
  const head=made.heads[index],blocks=blocksOf(made);
  for(const one of blocks.flatMap(b=>b.heads).filter(h=>h.$sort)){one.removeAttribute("aria-sort");one.$sort.className="sort"}
  if(next){head.setAttribute("aria-sort",next);head.$sort.classList.add(next)}
  blocks[0].sorted=next&&[made,index,next];
  arrange(made);
}
function addButtons(made){
  made.heads.forEach((head,index)=>{
    if("still" in head.dataset)return;
    head.$label=head.textContent.trim();
    const click=()=>{
      const now=head.getAttribute("aria-sort"),next=now in NEXT?NEXT[now]:"ascending";
      sortBy(made,index,next);
      say(!next?_("In the order of the plan"):next==="ascending"?_`Sorted by ${head.$label}, ascending`:_`Sorted by ${head.$label}, descending`);
      hash("sort",tables.flatMap(t=>t.sorted?[linkOf(t.sorted)]:[]).join(" "));
    };
    head.$sort=el("button",{type:"button",class:"sort","aria-label":_`Sort by ${head.$label}`,title:_("Sort"),click});
    const units=made.table.tHead.rows[1]; // there is room below the heading, beside the unit
    (units?.cells.length===made.heads.length?units.cells[index]:head).append(head.$sort);
  });
}
const linkOf=([made,index,way])=>[made.table.caption.id,index,way].join(".");
function sortAsAsked(){
  const wanted=(address().get("sort")||"").split(" ").map(w=>w.split("."));
  for(const made of tables){
    const [id,index,way]=wanted.find(w=>w[0]===made.table.caption?.id)||[];
    if(way in NEXT&&made.heads[index]?.$sort)sortBy(made,+index,way);
    else if(made.sorted&&!wanted.some(w=>w[0]===made.sorted[0].table.caption.id))sortBy(made,made.sorted[1],null);
  }
}
function arrange(made){
  const blocks=blocksOf(made),{sorted}=blocks[0];
  const order=sorted&&orderOf(sorted);
  for(const one of blocks)place(one,order);
}
function orderOf([{body},index,way]){ // row numbers of the plan in the order that is asked for
  const sign=way==="ascending"?1:-1;
  const keys=body.map(r=>index?rank(r.cells[index]):r.$name);
  const missing=x=>x!==x; // what is not known comes last either way
  return [...body.keys()].sort((a,b)=>{
    const x=keys[a],y=keys[b];
    if(missing(x)||missing(y))return missing(x)-missing(y);
    if(typeof x!==typeof y)return typeof x==="number"?-sign:sign; // numbers, then words
    return x<y?-sign:x>y?sign:0;
  });
}
function place(made,order){
  const {table,body}=made;
  made.ordered=Boolean(order);
  table.classList.toggle("sorted",made.ordered);
  for(const row of body){
    let lead=row.cells[0].querySelector(".lead");
    if(order&&row.$group&&!lead)row.cells[0].prepend(lead=el("span",{class:"lead"},row.$group+" · "));
    if(lead)lead.hidden=!order;
  }
  table.tBodies[0].append(...(order?order.map(i=>body[i]):made.rows));
  hideEmptyGroups(made);
}

// ---- filter --------------------------------------------------------------------------------------
const search=el("input",{type:"search",id:"q",autocomplete:"off",spellcheck:"false",input:()=>filterRows(search.value)});
const counted=el("span",{class:"mute","aria-live":"polite"});
const filterBox=[el("label",{for:"q"},_("Filter ")),search,counted];
const wordsIn=text=>text.toLowerCase().split(/\s+/).filter(Boolean);
function tellRows(left,all,text){
  counted.textContent=(wordsIn(text).length?`${grouped(String(left))}${_(" of ")}`:"")+_`${grouped(String(all))} rows`;
  hash("q",text);
}
