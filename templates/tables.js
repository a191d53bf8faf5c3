// Tables: every cell knows its figure, so it can be sorted by value, filtered, explained, recomputed.
const main=document.querySelector("#cases table.live");
const tables=[...document.querySelectorAll("table.live")].map(readTable);
function readTable(table){
  const made=rowsOf(table),flipped=made.flipped=table.classList.contains("flipped");
  const extra=made.heads.slice(1).findIndex(h=>h.dataset.m); // key cells beside the first
  made.extra=extra<0||flipped?0:extra;
  for(const row of made.body){
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
function rank(cell){
  const ref=cell.$ref;
  if(!ref){const x=parseFloat(cell.textContent.replace(/,/g,""));return x===x?x:cell.textContent}
  const x=valueOf(ref);
  return isAbsent(ref,x)?NaN:x;
}
for(const made of tables)if(!made.flipped&&made.body.length>1)addButtons(made);

// ---- filter --------------------------------------------------------------------------------------
const searched=range(COUNT).map(i=>[
  ...["model","gpu","weight_format","kv_format"].flatMap(k=>[CASES[k][i],labelOf(k,CASES[k][i])]),
  CASES.workload[i],CASES.id[i],"tp"+CASES.inputs.tp[i],"batch "+CASES.inputs.batch[i],grouped(String(CASES.inputs.context[i])),
].join(" ").toLowerCase());
function filterRows(text){
  const words=wordsIn(text),fits=searched.map((s,i)=>words.every(w=>s.includes(w)));
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
  tellRows(left,all,text);
}

// ---- the bar above the cases ---------------------------------------------------------------------
const visible=row=>[...row.cells].filter(c=>!c.hidden);
const plainText=cell=>(cell.$ref?textOf(cell.$ref):cell.textContent).trim();
function linesOf(made,text){
  const blocks=blocksOf(made),parts=blocks.map(b=>blockLines(b,text)); // the key stands in each block, and once here
  return parts[0].map((line,i)=>[...line,...parts.slice(1).flatMap(p=>p[i].slice(1+blocks[0].extra))]);
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
function columnsChooser(made){
  const boxes=blocksOf(made).flatMap(made=>made.heads.map((head,index)=>index<1||!head.dataset.m?null:el("label",{},
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
  ...(whole.flipped?[]:filterBox),
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
