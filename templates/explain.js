// Every figure explains itself: the formula, the same with numbers put in, and what stands behind it.
const labelOf=(kind,id)=>doc.labels[kind]?.[id]??ENTRIES[kind]?.[id]?.label??id;
const nameOf=n=>named(n,METRICS[n]?.label??FIELDS[n]?.label??n.replaceAll("_"," "));
let model=new Model();
const issued=model;
const caseName=i=>[labelOf("model",CASES.model[i]),labelOf("gpu",CASES.gpu[i]),CASES.id[i]].join(" · ");
// What was replaced, as people read it: one text an input.
function replacedTexts(over){
  return Object.entries(over).map(([n,x])=>`${LIVE.controls.find(c=>c.name===n).label} ${shownAs(n,x)}`);
}
function shownAs(name,x){
  const control=LIVE.controls.find(c=>c.name===name);
  if(control.what==="entry")return labelOf(name,x);
  if(control.options.length)return control.options.find(([v])=>v===String(x))?.[1]??exactNumber(x);
  return `${shownText(x/control.factor,control.whole?"count":"figure")} ${control.unit}`.trim();
}

// ---- where an input comes from -------------------------------------------------------------------
function originOf(c,name){
  if(name in CONSTANTS)return [_("constant"),reasoned(name,CONSTANTS[name].meaning)];
  const {entity,meaning}=FIELDS[name],{over}=model;
  const kind=entity==="group"?"model":entity;
  if(name in over||over[kind]&&kind in CASES)return [_("what if"),kind in CASES?labelOf(kind,over[kind]):_("typed into this page"),reasoned(name,meaning),...(over[kind]&&ENTRIES[kind]?.[over[kind]]?.sources||[])];
  if(entity==="stage")return [_("counted"),reasoned(name,meaning)];
  const parts=o=>[called(o.kind||"catalog"),called(o.where||o.place||""),called(o.confidence),o.note].filter(Boolean);
  if(entity==="case"||entity==="plan")return [...parts(doc.origins[name]),reasoned(name,meaning),...doc.origins[name].sources.map(s=>sourceText("engine",ENGINE,s))];
  const id=model.chosen(kind,c.i),found=entity==="group"?doc.groups[id][0].facts[name]:doc.facts[kind][id][name];
  return [...parts({...found,where:`${labelOf(kind,id)}, ${found.place}`}),reasoned(name,meaning),...found.source.map(s=>sourceText(kind,id,s))];
}
function sourceText(kind,id,title){
  const one=doc.sources[kind]?.[id]?.[title];
  return one?[one.title,one.url,one.read&&_("read ")+one.read].filter(Boolean).join(", "):title;
}

// ---- the dialog ----------------------------------------------------------------------------------
const body=el("div",{id:"explain-body"});
const dialog=el("dialog",{id:"explain","aria-labelledby":"explain-title"},body);
document.body.append(dialog);
dialog.addEventListener("close",()=>{if(!dialog.open){trail.length=0;hash("explain",null)}});
dialog.addEventListener("click",e=>{if(e.target===dialog)dialog.close()});
const trail=[];
function explain(ref){
  trail.push(ref);
  drawExplanation();
  if(!dialog.open)dialog.showModal();
  document.getElementById("explain-title").focus();
  hash("explain",nameOfFigure(ref));
}
const nameOfFigure=ref=>[ref.m,CASES.id[ref.i],...(ref.set?[ref.set,ref.r]:[])].join("@");
function drawExplanation(){
  const {m,i,t=0,g=0,set,r}=trail.at(-1),own=model.case(i),c=set?own.child(set,r):own;
  const metric=METRICS[m],x=at(c,m,t,g),shown=LIVE.shown[m];
  const where=[caseName(i)];
  if(set)where.push(...replacedBy(set).map(n=>`${nameOf(n)} ${exact(c[n],n)}`));
  where.push(...placeWords(i,grainOf(m),t,g));
  body.replaceChildren(
    el("div",{class:"explain-head"},
      trail.length>1?el("button",{type:"button",click:()=>{trail.pop();const back=trail.pop();explain(back)}},_("Back")):"",
      el("button",{type:"button",click:()=>copy(`${nameOf(m)}: ${exact(x,m)} (${where.join(", ")})`)},_("Copy")),
      el("button",{type:"button",click:()=>dialog.close()},_("Close"))),
    el("h2",{id:"explain-title",tabindex:"-1"},nameOf(m)),
    el("p",{class:"explain-value"},el("b",{},displayText(m,x)),` ${shown?.[2]??""}`,
      shown&&shown[0]!==1&&x===x?el("span",{class:"mute"},` = ${exact(x,m)}`):""),
    el("p",{class:"note"},where.join(" · ")),
    model===issued?"":el("p",{class:"note"},el("span",{class:"v warn"},_("what if")),_` ${replacedTexts(model.over).join("; ")}; issued: ${displayText(m,at(set?issued.case(i).child(set,r):issued.case(i),m,t,g))}`),
    ...(metric?ofMetric(c,m,metric,t,g):[el("p",{},originOf(c,m).filter(Boolean).join("; "))]));
}
const displayText=(m,x)=>{const [factor,kind]=LIVE.shown[m]??[1,"figure"];return shownText(typeof x==="string"?x:kind==="share"?x:x/factor,kind)};
function placeWords(i,grain,t,g){
  const words=[];
  if(grain>2&&stagesOf(i)>1)words.push(_`stage ${t+1}`);
  if(grain===2||grain===4)words.push(_`layer group ${g+1}, ${called(doc.groups[CASES.model[i]][g].label)}`);
  return words;
}
function ofMetric(c,m,metric,t,g){
  const source=metric.source,over=METRICS[m]&&doc.declarations.replaced?.[m];
  return [
    el("p",{},reasoned(m,metric.why)),
    el("p",{class:"code"},el("code",{},`${m} = ${WORDS[m].replace(/[{}]/g,"")}`)),
    el("p",{class:"worked",id:"explain-numbers"},`= ${putIn(c,m,t,g)} = ${exact(at(c,m,t,g),m)}`),
    grainOf(m)===0&&COUNT>1?el("p",{class:"note"},_`Over all ${COUNT} cases; the numbers are those of this one.`):"",
    el("div",{class:"scroll"},el("table",{class:"text"},el("caption",{},_("What it is made of")),
      el("tbody",{},...usedIn(m).map(n=>operand(c,m,n,t,g))))),
    over?el("p",{class:"note"},_`Replaced: ${over[1]}`):"",
    el("p",{class:"note"},_("Source: "),source.url&&/^https?:\/\/\S+$/.test(source.url)?el("a",{href:source.url,rel:"noreferrer noopener"},source.title):source.title,
      ". ",el("a",{href:`#m-${m}`,click:()=>dialog.close()},_("In the glossary")))];
}
function operand(c,m,n,t,g){
  const k=grainOf(n),mine=grainOf(m),places=placesOf(c.i,k,k>2&&mine>2?t:stagesOf(c.i)===1?0:null,(k===2||k===4)&&(mine===2||mine===4)?g:null);
  const set=setIn(m),row=set&&moves(set,n);
  const value=row?listed(doc.ladders[set].map((_,r)=>c.child(set,r)[n]),n)
    :places.length>1?listed(places.map(p=>at(c,n,...p)),n):exact(at(c,n,...places[0]),n);
  const deeper=F[n]&&el("button",{type:"button",class:"deep",click:()=>explain({m:n,i:c.i,t:places[0][0],g:places[0][1],set:c.set,r:c.rung})},nameOf(n));
  const said=F[n]?reasoned(n,METRICS[n].why):originOf(c,n).filter(Boolean).join("; ");
  return el("tr",{},el("th",{scope:"row"},deeper||nameOf(n)),el("td",{class:"n"},value),el("td",{class:"prosecell"},said));
}

// ---- the clipboard and files --------------------------------------------------------------------
async function copy(text){
  try{await navigator.clipboard.writeText(text)}
  catch{ // no permission, or a browser that knows no clipboard on a page from disk
    const box=el("textarea",{"aria-hidden":"true",class:"sr"});box.value=text;
    (dialog.open?dialog:document.body).append(box);box.select();document.execCommand("copy");box.remove();
  }
  say(_("Copied"));
}
function save(name,type,text){
  const url=URL.createObjectURL(new Blob([text],{type}));
  el("a",{href:url,download:name}).click();
  setTimeout(()=>URL.revokeObjectURL(url),1000);
  say(_`${name} saved`);
}
