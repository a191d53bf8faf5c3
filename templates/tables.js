// Tables: every cell knows its figure, so it can be sorted by value, filtered, explained, recomputed.
const main=document.querySelector("#cases table.live");
const tables=[...document.querySelectorAll("table.live")].map(readTable);
// A table too wide for a screen stands in blocks of columns, which keep the same rows in one order.
for(const made of tables){
  const name=made.table.dataset.b;
  made.blocks=name?tables.filter(t=>t.table.dataset.b===name):[made];
}
function readTable(table){
  const heads=[...table.tHead.rows[0].cells],flipped=table.classList.contains("flipped");
  const rows=[...table.tBodies[0].rows],groups=[];
  let group="";
  const extra=heads.slice(1).findIndex(h=>h.dataset.m); // key cells beside the first
  const made={table,heads,flipped,rows,extra:extra<0||flipped?0:extra,body:rows.filter(r=>!r.classList.contains("group"))};
  for(const row of rows){
    const first=row.cells[0];
    if(row.classList.contains("group")){group=first.textContent;continue}
    row.$group=group;
    row.$name=(group?group+" · ":"")+first.textContent;
    row.$cases=(row.dataset.c||"").split(" ").filter(Boolean).map(Number);
    for(const cell of row.cells)if(cell.tagName==="TD")cell.$ref=refOf(made,row,cell);
  }
  return made;
}
function refOf({table,heads,flipped},row,cell){
  const head=heads[cell.cellIndex],from=flipped?head:row,of=flipped?row:head;
  const m=of?.dataset.m??(head?.dataset.r===undefined?undefined:table.dataset.m);
  if(m===undefined||from.dataset.c===undefined)return null;
  const [t,g]=(from.dataset.p||"0 0").split(" ").map(Number);
  const d=(of.dataset.m?of:table).dataset.d;
  return {m,i:+from.dataset.c.split(" ")[0],t,g,d:d?+d:0,set:table.dataset.l,r:head.dataset.r===undefined?undefined:+head.dataset.r};
}
function valueOf(ref,of){
  const own=(of||model).case(ref.i);
  return at(ref.set?own.child(ref.set,ref.r):own,ref.m,ref.t,ref.g);
}
// A cell that does not apply: by another column, a bound that is never shown, a context too long.
function isAbsent(ref,x,of){
  const own=(of||model).case(ref.i),c=ref.set?own.child(ref.set,ref.r):own;
  if(ref.set){
    if(replacedBy(ref.set).some(n=>LIVE.unfit[n]&&c[LIVE.unfit[n]]===0))return true;
    const across=[...replacedBy(ref.set),...Object.keys(VARIANTS[ref.set].follows||{})].includes("context")?"context":"context_start";
    return (across in c)&&c[across]>c.max_context;
  }
  if(LIVE.bounded.includes(ref.m)&&x>=LIVE.bound)return true;
  const rule=LIVE.absent[ref.m];
  return Boolean(rule)&&at(c,rule[0],ref.t,ref.g)===rule[1];
}
const WORDS_TONE={[_("fits")]:"good",[_("does not fit")]:"bad"};
function textOf(ref,of){
  const x=valueOf(ref,of),[factor,kind]=LIVE.shown[ref.m];
  if(isAbsent(ref,x,of))return "\u2013";
  return shownText(typeof x==="string"||kind==="share"||kind==="flag"?x:x/factor,kind,ref.d);
}

// ---- sorting -------------------------------------------------------------------------------------
function rank(ref,cell){
  if(!ref){const x=parseFloat(cell.textContent.replace(/,/g,""));return x===x?x:cell.textContent}
  const x=valueOf(ref);
  return isAbsent(ref,x)?NaN:x;
}
function sortBy(made,index){
  const head=made.heads[index],now=head.getAttribute("aria-sort");
  const next=now==="ascending"?"descending":now==="descending"?null:"ascending";
  for(const one of made.blocks.flatMap(b=>b.heads)){one.removeAttribute("aria-sort");one.$sort.className="sort"}
  if(next){head.setAttribute("aria-sort",next);head.$sort.classList.add(next)}
  made.blocks[0].sorted=next&&[made,index,next];
  arrange(made);
  say(next?_`Sorted by ${head.$label}, ${called(next)}`:_("In the order of the plan"));
}
function arrange({blocks}){
  const sorted=blocks[0].sorted;
  const order=sorted&&orderOf(sorted);
  for(const made of blocks)place(made,order);
}
function orderOf([{body},index,way]){ // row numbers of the plan in the order that is asked for
  const sign=way==="ascending"?1:-1;
  const keys=body.map(r=>index?rank(r.cells[index].$ref,r.cells[index]):r.$name);
  const missing=x=>x!==x; // what is not known comes last either way
  return range(body.length).sort((a,b)=>{
    const x=keys[a],y=keys[b];
    return missing(x)||missing(y)?missing(x)-missing(y):x<y?-sign:x>y?sign:0;
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
for(const made of tables)if(!made.flipped&&made.body.length>1)made.heads.forEach((head,index)=>{
  head.$label=head.textContent.trim();
  head.$sort=el("button",{type:"button",class:"sort","aria-label":_`Sort by ${head.$label}`,title:_("Sort"),click:()=>sortBy(made,index)});
  const units=made.table.tHead.rows[1]; // there is room below the heading, beside the unit
  (units?.cells.length===made.heads.length?units.cells[index]:head).append(head.$sort);
});

// ---- filter --------------------------------------------------------------------------------------
const searched=range(COUNT).map(i=>[
  ...["model","gpu","weight_format","kv_format"].flatMap(k=>[CASES[k][i],labelOf(k,CASES[k][i])]),
  CASES.workload[i],CASES.id[i],"tp"+CASES.inputs.tp[i],"batch "+CASES.inputs.batch[i],grouped(String(CASES.inputs.context[i])),
].join(" ").toLowerCase());
let words=[];
function filterRows(text){
  words=text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits=searched.map((s,i)=>words.every(w=>s.includes(w)));
  let all=0,left=0;
  for(const made of tables){
    if(made.flipped)continue;
    for(const row of made.body){
      const shown=!words.length||row.$cases.some(i=>fits[i])||words.every(w=>row.$name.toLowerCase().includes(w));
      row.hidden=!shown;
      if(made.table===main){all+=1;left+=shown}
    }
    hideEmptyGroups(made);
  }
  counted.textContent=(words.length?`${grouped(String(left))}${_(" of ")}`:"")+_`${grouped(String(all))} rows`;
  hash("q",text);
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

// ---- the bar above the cases ---------------------------------------------------------------------
const search=el("input",{type:"search",id:"q",autocomplete:"off",spellcheck:"false",input:()=>filterRows(search.value)});
const counted=el("span",{class:"mute","aria-live":"polite"});
const visible=row=>[...row.cells].filter(c=>!c.hidden);
const plainText=cell=>(cell.$ref?textOf(cell.$ref):cell.textContent).trim();
function linesOf(made,text){
  const parts=made.blocks.map(b=>blockLines(b,text)); // the key stands in each block, and once here
  return parts[0].map((line,i)=>[...line,...parts.slice(1).flatMap(p=>p[i].slice(1+made.blocks[0].extra))]);
}
function blockLines(made,text){
  const heads=visible(made.table.tHead.rows[0]),units=[...made.table.tHead.rows[1]?.cells||[]];
  const head=heads.map(h=>{const u=units[h.cellIndex]?.textContent.trim()||"";return (h.$label||h.textContent.trim())+(u?` [${u}]`:"")});
  const rows=made.flipped?made.body:[...made.table.tBodies[0].rows].filter(r=>!r.hidden&&r.$name!==undefined);
  return [head,...rows.map(r=>visible(r).map((c,i)=>i?text(c):r.$name))];
}
const cellOf=t=>t.replace(/\|/g,"\\|");
const markdown=lines=>lines.map((l,i)=>`| ${l.map(cellOf).join(" | ")} |`+(i?"":`\n|${l.map(()=>" --- |").join("")}`)).join("\n")+"\n";
function rawText(cell){
  if(!cell.$ref)return cell.textContent.trim();
  const x=valueOf(cell.$ref),[factor,kind]=LIVE.shown[cell.$ref.m];
  if(isAbsent(cell.$ref,x)||x!==x)return "";
  return typeof x==="string"?x:kind==="flag"?(x?"true":"false"):String(kind==="share"?x:x/factor);
}
// What a spreadsheet would take for a formula is marked as text.
const csvCell=t=>{const s=/^[=+@\t\r-]/.test(t)&&isNaN(t)?"'"+t:t;return /[",\n\r]/.test(s)?`"${s.replace(/"/g,'""')}"`:s};
const csv=lines=>lines.map(l=>l.map(csvCell).join(",")).join("\r\n")+"\r\n";
const file=doc.scenario.name;
function columnsChooser({blocks}){
  const boxes=blocks.flatMap(made=>made.heads.map((head,index)=>index<1||!head.dataset.m?null:el("label",{},
    el("input",{type:"checkbox",checked:true,change:e=>showColumn(made,index,e.target.checked)})," ",head.$label))).filter(Boolean);
  return boxes.length>2?el("details",{class:"columns"},el("summary",{},_("Columns")),el("div",{},...boxes)):"";
}
function showColumn(made,index,shown){
  for(const row of [...made.table.tHead.rows,...made.body])if(row.cells[index])row.cells[index].hidden=!shown;
}
const whole=tables.find(t=>t.table===main);
function planText(){
  const value={...doc};
  value.cases=range(COUNT).map(i=>Object.fromEntries(Object.keys(CASES).map(k=>[k,k==="inputs"?Object.fromEntries(Object.entries(CASES.inputs).map(([n,c])=>[n,c[i]])):CASES[k][i]])));
  value.values=Object.fromEntries(Object.entries(doc.values).map(([n,x])=>[n,unpack(x)]));
  return JSON.stringify(value)+"\n";
}
const button=(text,click)=>el("button",{type:"button",click},text);
main.closest(".scroll").before(el("div",{class:"tools",role:"group","aria-label":_("Table tools")},
  whole.flipped?"":el("label",{for:"q"},_("Filter ")),whole.flipped?"":search,whole.flipped?"":counted,
  whole.flipped?"":columnsChooser(whole),
  button(_("Copy as Markdown"),()=>copy(markdown(linesOf(whole,plainText)))),
  button("CSV",()=>save(file+".csv","text/csv",_("")+csv(linesOf(whole,rawText)))),
  button(_("Plan as JSON"),()=>save(file+".plan.json","application/json",planText())),
  el("span",{class:"note keys"},_("Words such as B200 long filter every table. Click a figure, or press Enter on it, for its formula; arrows move, c copies the row."))));

// ---- one stop of the keyboard a table, arrows inside it ------------------------------------------
function focusCell(made,cell){
  made.stop?.removeAttribute("tabindex");
  cell.tabIndex=0;
  made.stop=cell;
}
function cellsOf(made){return [...made.table.tBodies[0].rows].filter(r=>!r.hidden&&r.$name!==undefined)}
function move(made,cell,dx,dy){
  const rows=cellsOf(made),row=rows.indexOf(cell.parentElement)+dy;
  let to=rows[row]?.cells[cell.cellIndex];
  while(dx&&to){to=to.parentElement.cells[to.cellIndex+dx];if(!to||!to.hidden)break}
  if(to&&!to.hidden){focusCell(made,to);to.focus()}
}
const MOVES={ArrowLeft:[-1,0],ArrowRight:[1,0],ArrowUp:[0,-1],ArrowDown:[0,1]};
// Figures outside the tables of cases: tiles, totals, what all rows have in common, checks.
for(const node of document.querySelectorAll(".tile-number,dd b[data-m],.note b[data-m],#checks td[data-m]")){
  const from=node.closest("[data-m]"),[t,g]=(from.dataset.p||"0 0").split(" ").map(Number);
  const why=()=>explain({m:from.dataset.m,i:+(from.$case??from.dataset.c??0).toString().split(" ")[0],t,g});
  node.tabIndex=0;
  if(node.tagName!=="TD")node.setAttribute("role","button");
  node.classList.add("asks");
  node.addEventListener("click",why);
  node.addEventListener("keydown",e=>{if(e.key==="Enter"||e.key===" "){e.preventDefault();why()}});
}
const copyRow=(made,row)=>{const lines=linesOf(made,plainText),name=lines.findIndex((l,i)=>i&&l[0]===row.$name);copy(markdown([lines[0],lines[name]]))};
for(const made of tables){
  const first=made.body.flatMap(r=>[...r.cells]).find(c=>c.$ref);
  if(!first)continue;
  made.table.setAttribute("role","grid");
  focusCell(made,first);
  made.table.addEventListener("keydown",e=>{
    const cell=e.target.closest("tbody td,tbody th");
    if(!cell||e.target!==cell)return;
    if(MOVES[e.key]){e.preventDefault();move(made,cell,...MOVES[e.key])}
    else if(e.key==="Enter"&&cell.$ref)explain(cell.$ref);
    else if(e.key==="c"&&!e.ctrlKey&&!e.metaKey)copyRow(made,cell.parentElement);
  });
  made.table.addEventListener("click",e=>{
    const cell=e.target.closest("tbody td");
    if(cell?.$ref&&!String(getSelection())){focusCell(made,cell);explain(cell.$ref)}
  });
}
