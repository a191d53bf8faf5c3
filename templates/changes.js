// The page of a comparison: its long tables sort and filter; figures are those that were written.
const tables=findAll("table.sorts").map(table=>rowsOf([table]));
// Rows that are worth another order.
const SHORTEST=3;
for(const made of tables){
  const [table]=made.parts;
  for(const row of made.rows)row.text=[table.caption.textContent,row.group,...row.cells.map(c=>c.textContent)].join(" ").toLowerCase();
  if(made.rows.length<SHORTEST)continue;
  table.classList.add("sortable");
  addButtons(made);
}
// The raw figure of a cell; what is not known, and what does not apply, comes last.
function rank({dataset:{v},textContent}){
  const x=v??textContent.trim();
  return x===""||x==="\u2013"?NaN:v===undefined||isNaN(x)?x:+x;
}
const folds=findAll("details");
function filterRows(text){
  const words=wordsIn(text);
  let all=0,left=0;
  for(const made of tables){
    for(const {text,trs:[tr]} of made.rows)tr.hidden=!words.every(w=>text.includes(w));
    const shown=made.rows.filter(isShown).length;
    made.parts[0].parentElement.hidden=!shown;
    hideGroups(made);
    all+=made.rows.length;
    left+=shown;
  }
  // What is found inside is shown, and folded again afterwards.
  for(const fold of folds){
    fold.$open??=fold.open;
    fold.open=text?Boolean(find(".scroll:not([hidden]) .sorts",fold)):fold.$open;
    if(!text)fold.$open=undefined;
  }
  tellRows(left,all,text);
}
function follow(){
  if(asksNothing())return;
  filterRows(search.value=address().get("q")||"");
  sortAsAsked();
}
const answer=find("#answer"),first=find(".sorts",answer);
if(first)first.parentElement.before(tools);else if(tables.length)answer.append(tools);
put(globalThis,{hashchange:follow});
follow();
const asked=tables.find(t=>t.sorted)?.parts[0];
asked?.closest("details")?.setAttribute("open","");
asked?.scrollIntoView();
