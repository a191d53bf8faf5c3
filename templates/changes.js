// The page of a comparison: its long tables sort and filter; figures are those that were written.
const tables=[...document.querySelectorAll("table.sorts")].map(rowsOf);
const SHORTEST=3; // rows that are worth another order
for(const made of tables){
  const about=made.table.caption.textContent;
  for(const row of made.body)row.$text=[about,row.$group,...row.cells].map(x=>x.textContent??x).join(" ").toLowerCase();
  if(made.body.length<SHORTEST)continue;
  made.table.classList.add("sortable");
  addButtons(made);
}
// The raw figure of a cell; what is not known, and what does not apply, comes last.
function rank({dataset:{v},textContent}){
  const x=v??textContent.trim();
  return x===""||x==="\u2013"?NaN:v===undefined||isNaN(x)?x:+x;
}
const folds=[...document.querySelectorAll("details")];
function filterRows(text){
  const words=wordsIn(text);
  let all=0,left=0;
  for(const made of tables){
    for(const row of made.body)row.hidden=!words.every(w=>row.$text.includes(w));
    const shown=made.body.filter(r=>!r.hidden).length;
    made.table.parentElement.hidden=!shown;
    hideEmptyGroups(made);
    all+=made.body.length;
    left+=shown;
  }
  for(const fold of folds){ // what is found inside is shown, and folded again afterwards
    fold.$open??=fold.open;
    fold.open=words.length?Boolean(fold.querySelector(".scroll:not([hidden]) .sorts")):fold.$open;
    if(!words.length)fold.$open=undefined;
  }
  tellRows(left,all,text);
}
function follow(){
  if(asksNothing())return;
  search.value=address().get("q")||"";
  filterRows(search.value);
  sortAsAsked();
}
const bar=el("div",{class:"tools",role:"group","aria-label":_("Table tools")},...filterBox,
  el("span",{class:"note keys"},_("Words such as B200 filter the tables below; the arrows in their headings sort them. The address keeps both.")));
const answer=document.getElementById("answer"),first=answer.querySelector(".sorts");
if(first)first.parentElement.before(bar);else if(tables.length)answer.append(bar);
addEventListener("hashchange",follow);
follow();
const asked=tables.find(t=>t.sorted)?.table;
asked?.closest("details")?.setAttribute("open","");
asked?.scrollIntoView();
