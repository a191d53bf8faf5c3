// What the pages share: elements, the address, and tables whose rows sort and hide. A page has its own
// list of `tables`, its `rank` of a cell and its `filterRows`.
const unique=xs=>[...new Set(xs)],joined=(parts,by="; ")=>parts.filter(Boolean).join(by);
const find=(selector,inside=document)=>inside.querySelector(selector);
const findAll=(selector,inside=document)=>[...inside.querySelectorAll(selector)];
// What a page has ready for its script.
const extras=find("template").content;
const SVG=find("svg")?.namespaceURI,SHAPES=new Set(["text","rect","circle","polyline"]);
// Gives a node attributes and listeners (plain objects), and what is inside it.
function put(node,...inside){
  for(const x of inside)
    if(x?.constructor!==Object){if(x)node.append(x)}
    else for(const [name,value] of Object.entries(x))
      if(typeof value==="function")node.addEventListener(name,value);
      else if(value!==undefined)node.setAttribute(name,value);
  return node;
}
function el(kind,...inside){
  const [tag,...names]=kind.split("."),made=SHAPES.has(tag)?document.createElementNS(SVG,tag):document.createElement(tag);
  if(names.length)made.setAttribute("class",names.join(" "));
  return put(made,...inside);
}
const button=(text,click,look="")=>el("button"+look,{type:"button",click},text);
const status=find(".sr",extras);
document.body.append(status);
const say=text=>{status.textContent=text};
// #q=B200&batch=64 and such; any other address is an anchor of the page and none of our business.
const address=()=>new URLSearchParams(location.hash.includes("=")?location.hash.slice(1):"");
function hash(name,value){
  const found=address(),before=String(found);
  if(value)found.set(name,value);else found.delete(name);
  // Browsers refuse when it changes too often.
  if(String(found)!==before)try{history.replaceState(null,"","#"+found)}catch{}
}
// An anchor of the page asks for nothing new.
const asksNothing=()=>counted.textContent&&location.hash.length>1&&!location.hash.includes("=");

// ---- tables --------------------------------------------------------------------------------------
const isGroup=tr=>tr.classList.contains("group"),isShown=row=>!row.trs[0].hidden;
// A table too wide for a screen stands in blocks of columns; rows and columns run through all of them.
function rowsOf(parts){
  const made={parts,heads:[],rows:[],lines:parts.map(p=>[...p.tBodies[0].rows])};
  parts.forEach(({tHead},k)=>{
    const [top,units]=[...tHead.rows].map(r=>[...r.cells]),skip=k&&top.findIndex(h=>h.dataset.m);
    top.forEach((h,n)=>{h.$label=h.textContent.trim();h.$unit=units?.length===top.length&&units[n]});
    made.heads.push(...top.slice(skip));
    let group="",n=0;
    for(const tr of made.lines[k]){
      const first=tr.cells[0].textContent;
      if(isGroup(tr)){group=first+" · ";continue}
      const row=tr.$row=made.rows[n++]??={made,group,name:group+first,trs:[],cells:[]};
      row.trs.push(tr);
      row.cells.push(...[...tr.cells].slice(skip));
    }
  });
  return made;
}
const WAYS=["ascending","descending"];
function addButtons(made){
  made.heads.forEach((h,k)=>{
    if("still" in h.dataset)return;
    h.$sort=put(button("",()=>{
      const way=WAYS[WAYS.indexOf(h.ariaSort)+1];
      sortBy(made,way&&[k,way]);
      say(!way?_("In the order of the plan"):way===WAYS[0]?_`Sorted by ${h.$label}, ascending`:_`Sorted by ${h.$label}, descending`);
      hash("sort",joined(tables.map(t=>t.sorted&&[t.parts[0].caption.id,...t.sorted].join("."))," "));
    },".sort"),{"aria-label":_`Sort by ${h.$label}`,title:_("Sort")});
    // There is room below the heading, beside the unit.
    (h.$unit||h).append(h.$sort);
  });
}
function sortBy(made,sorted){
  made.heads.forEach((h,k)=>{
    h.ariaSort=sorted?.[0]===k?sorted[1]:null;
    if(h.$sort)h.$sort.className=joined(["sort",h.ariaSort]," ");
  });
  made.sorted=sorted;
  arrange(made);
}
function sortAsAsked(){
  const wanted=(address().get("sort")||"").split(" ").map(w=>w.split("."));
  for(const made of tables){
    const [,k,way]=wanted.find(w=>w[0]===made.parts[0].caption?.id)||[];
    const sorted=WAYS.includes(way)&&made.heads[k]?.$sort?[+k,way]:undefined;
    if(String(sorted)!==String(made.sorted))sortBy(made,sorted);
  }
}
function arrange(made){
  const {parts,rows,lines,sorted}=made;
  let order;
  if(sorted){
    const [k,way]=sorted,sign=way===WAYS[0]?1:-1,keyed=rows.map(r=>[k?rank(r.cells[k]):r.name,r]);
    // What is not known comes last either way; numbers stand before words.
    order=keyed.sort(([x],[y])=>(x!==x)-(y!==y)||(typeof x===typeof y?x<y?-sign:x>y?sign:0:typeof x==="number"?-sign:sign)).map(([,r])=>r);
    for(const {group,trs} of rows)if(group)for(const tr of trs)if(!find(".lead",tr))tr.cells[0].prepend(el("span.lead",group));
  }
  parts.forEach((table,n)=>{
    table.classList.toggle("sorted",Boolean(sorted));
    table.tBodies[0].append(...order?order.map(r=>r.trs[n]):lines[n]);
  });
  hideGroups(made);
}
function hideGroups({lines,sorted}){
  let head;
  for(const tr of lines.flat())if(isGroup(tr))(head=tr).hidden=true;else if(head&&!tr.hidden&&!sorted)head.hidden=false;
}

// ---- filter --------------------------------------------------------------------------------------
const tools=find(".tools",extras),search=find("input",tools),counted=find("span",tools);
put(search,{input:()=>filterRows(search.value)});
const wordsIn=text=>text.toLowerCase().split(/\s+/),shown=n=>n.toLocaleString("en");
function tellRows(left,all,text){
  counted.textContent=(text?`${shown(left)}${_(" of ")}`:"")+_`${shown(all)} rows`;
  hash("q",text);
}
