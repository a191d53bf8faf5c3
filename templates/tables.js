// Tables of cases: sorted by value, filtered by words, columns chosen, rows taken away.
function rank({$ref,textContent}){
  if(!$ref){const x=parseFloat(textContent.replace(/,/g,""));return x===x?x:textContent}
  const x=valueOf($ref);
  return isAbsent($ref,x)?NaN:x;
}
for(const made of tables)if(!made.flipped&&made.rows.length>1)addButtons(made);
const searched=range(COUNT).map(i=>joined([
  ...["model","gpu","weight_format","kv_format"].flatMap(k=>[CASES[k][i],labelOf(k,CASES[k][i])]),
  CASES.workload[i],CASES.id[i],"tp"+CASES.inputs.tp[i],"batch "+CASES.inputs.batch[i],format(CASES.inputs.context[i]),
]," ").toLowerCase());
function filterRows(text){
  const words=wordsIn(text),has=s=>words.every(w=>s.includes(w)),fits=searched.map(has);
  for(const made of tables)if(!made.flipped){
    for(const {cases,name,trs} of made.rows){
      const shown=cases.some(i=>fits[i])||has(name.toLowerCase());
      for(const tr of trs)tr.hidden=!shown;
    }
    hideGroups(made);
  }
  tellRows(whole.rows.filter(isShown).length,whole.rows.length,text);
}

// ---- taking figures away -------------------------------------------------------------------------
async function copy(text){
  try{await navigator.clipboard.writeText(text)}
  catch{
    // No permission, or a browser that knows no clipboard on a page from disk.
    const box=el("textarea.sr",{"aria-hidden":"true"},text);
    (dialog.open?dialog:document.body).append(box);box.select();document.execCommand("copy");box.remove();
  }
  say(_("Copied"));
}
function save(name,type,text){
  const href=URL.createObjectURL(new Blob([text],{type}));
  el("a",{href,download:name}).click();
  setTimeout(()=>URL.revokeObjectURL(href),1000);
  say(_`${name} saved`);
}
const headLine=h=>h.$label+(h.$unit?.textContent?` [${h.$unit.textContent.trim()}]`:"");
const plainText=cell=>(cell.$ref?textOf(cell.$ref):cell.textContent).trim();
function rawText(cell){
  const ref=cell.$ref,x=ref&&valueOf(ref);
  if(!ref)return cell.textContent.trim();
  if(isAbsent(ref,x)||x!==x)return "";
  return kindOf(ref.m)==="flag"?flagText(x,ref.m):String(scaled(x,ref.m));
}
function linesOf({heads,parts},text,rows=[...parts[0].tBodies[0].rows].map(tr=>tr.$row).filter(r=>r&&isShown(r))){
  const kept=cells=>cells.filter((_,k)=>!heads[k].hidden);
  return [kept(heads).map(headLine),...rows.map(r=>kept(r.cells).map((c,k)=>k?text(c):r.name))];
}
const markdown=lines=>lines.map((l,i)=>`| ${l.map(t=>t.replaceAll("|","\\|")).join(" | ")} |\n`+(i?"":`|${" --- |".repeat(l.length)}\n`)).join("");
// What a spreadsheet would take for a formula is marked as text.
const csvCell=t=>{const s=/^[=+@\t\r-]/.test(t)&&isNaN(t)?"'"+t:t;return /[",\n\r]/.test(s)?`"${s.replaceAll('"','""')}"`:s};
const rowOf=(columns,i)=>mapped(columns,x=>Array.isArray(x)?x[i]:rowOf(x,i));
const planText=()=>JSON.stringify({...doc,cases:range(COUNT).map(i=>rowOf(CASES,i)),values:mapped(doc.values,unpack)})+"\n";
const file=doc.scenario.name;
const boxes=whole.heads.flatMap((h,k)=>h.dataset.m?[el("label",el("input",{type:"checkbox",checked:"",change(e){
  for(const cell of [h,h.$unit,...whole.rows.map(r=>r.cells[k])])if(cell)cell.hidden=!e.target.checked;
}})," ",h.$label)]:[]);
find("details div",tools)?.append(...boxes);
if(whole.flipped)for(const one of findAll("label,input",tools))one.remove();
[()=>copy(markdown(linesOf(whole,plainText))),
  ()=>save(file+".csv","text/csv",_("")+linesOf(whole,rawText).map(l=>l.map(csvCell).join()+"\r\n").join("")),
  ()=>save(file+".plan.json","application/json",planText())].forEach((click,k)=>put(findAll("button",tools)[k],{click}));
whole.parts[0].closest(".scroll").before(tools);
