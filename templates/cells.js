// Cells of tables: each knows its figure, is reached by keyboard and explains itself.
const blocks={};
findAll("table.live").forEach((table,n)=>(blocks[table.dataset.b||" "+n]??=[]).push(table));
const tables=Object.values(blocks).map(rowsOf),whole=tables.find(t=>t.parts[0].closest("#cases"));
// 3-5 as 3, 4 and 5.
function caseNumbers(text){
  const [from,to=from]=text.split("-").map(Number);
  return Array.from({length:to-from+1},(_,k)=>from+k);
}
for(const made of tables){
  made.flipped=made.parts[0].classList.contains("flipped");
  for(const row of made.rows){
    row.cases=(row.trs[0].dataset.c||"0").split(" ").flatMap(caseNumbers);
    row.trs.forEach((tr,k)=>{
      const {tHead,dataset}=made.parts[k];
      for(const td of [...tr.cells].slice(1))td.$ref=refOf(dataset,tr.dataset,tHead.rows[0].cells[td.cellIndex].dataset,made.flipped);
    });
  }
}
function refOf(table,tr,head,flipped){
  const [of,from]=flipped?[tr,head]:[head,tr],m=of.m??(head.r&&table.m);
  if(!m||!from.c)return;
  const [t,g]=placed(from.p);
  return {m,i:parseInt(from.c),t,g,d:+((of.m?of:table).d||0),set:table.l,r:head.r&&+head.r};
}

// ---- one stop of the keyboard a table, arrows inside it ------------------------------------------
function stopAt(cell){
  find("tbody [tabindex]",cell.closest("table"))?.removeAttribute("tabindex");
  cell.tabIndex=0;
}
const beside=(node,by,ok)=>{do node=by<0?node.previousElementSibling:node.nextElementSibling;while(node&&!ok(node));return node};
function move(cell,dx,dy){
  const tr=cell.parentElement,other=dy&&beside(tr,dy,r=>!r.hidden&&!isGroup(r));
  const to=dx?beside(cell,dx,c=>!c.hidden):other?.cells[cell.cellIndex];
  if(to){stopAt(to);to.focus()}
}
const MOVES={ArrowLeft:[-1,0],ArrowRight:[1,0],ArrowUp:[0,-1],ArrowDown:[0,1]};
for(const {parts,lines} of tables)parts.forEach((table,k)=>{
  const first=lines[k].flatMap(r=>[...r.cells]).find(c=>c.$ref);
  if(first){table.setAttribute("role","grid");stopAt(first)}
});
// Figures outside the tables of cases: tiles, totals, what all rows have in common, checks.
for(const node of findAll(".tile-number,dd b[data-m],.note b[data-m],#checks td[data-m]")){
  const {m,c,p}=node.closest("[data-m]").dataset,[t,g]=placed(p);
  node.$ref={m,i:parseInt(c||0),t,g};
  node.tabIndex=0;
  if(node.tagName!=="TD")node.setAttribute("role","button");
  node.classList.add("asks");
}
const figureOf=e=>e.target.closest(".asks,[role=grid] tbody :is(td,th)");
put(document,{
  keydown(e){
    const node=figureOf(e),row=node?.parentElement.$row,by=row&&MOVES[e.key],asks=node?.$ref&&(e.key==="Enter"||e.key===" "&&!row);
    if(node!==e.target)return;
    if(by||asks)e.preventDefault();
    if(by)move(node,...by);
    else if(asks)explain(node.$ref);
    else if(row&&e.key==="c"&&!e.ctrlKey&&!e.metaKey)copy(markdown(linesOf(row.made,plainText,[row])));
  },
  click(e){
    const node=figureOf(e);
    if(!node?.$ref||String(getSelection()))return;
    if(node.parentElement.$row)stopAt(node);
    explain(node.$ref);
  },
});
