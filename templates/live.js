// The plan computes here as it does in Python: same formulas, same inputs. A value that is not known
// is NaN, a flag 0 or 1, a choice its word; finer values are arrays by layer group and by stage.
const CODES=[...Array(92).keys()].map(i=>String.fromCharCode(i+35)).filter(c=>!"<>&\\".includes(c));
const CODE_AT=Object.fromEntries(CODES.map((c,i)=>[c,i]));
function unpack(x){
  if(Array.isArray(x))return x.map(y=>y!==null&&typeof y==="object"?unpack(y):y);
  if(x===null||typeof x!=="object")return x;
  if("all" in x)return Array(x.n).fill(x.all);
  const {of,at}=x,found=[];
  if(of.length<=CODES.length)for(const c of at)found.push(of[CODE_AT[c]]);
  else for(let i=0;i<at.length;i+=2)found.push(of[CODE_AT[at[i]]*CODES.length+CODE_AT[at[i+1]]]);
  return found;
}
function columnsOf(cases){
  const one=(from,of)=>Object.fromEntries(Object.keys(from).map(k=>[k,of(k)]));
  if(!Array.isArray(cases))
    return one(cases,k=>k==="inputs"?one(cases.inputs,n=>unpack(cases.inputs[n])):unpack(cases[k]));
  return one(cases[0],k=>k==="inputs"?one(cases[0].inputs,n=>cases.map(c=>c.inputs[n])):cases.map(c=>c[k]));
}
const doc=JSON.parse(document.getElementById("plan-data").textContent);
const CASES=columnsOf(doc.cases),COUNT=CASES.id.length,SLOTS=6;
const STAGES=Math.max(...(CASES.inputs.pp||[1]));
const FIELDS=doc.declarations.fields,CONSTANTS=doc.declarations.constants||{};
const VARIANTS=doc.declarations.variants||{},METRICS=doc.declarations.metrics;
const ENGINE=Object.keys(doc.facts.engine)[0];
const FOLLOWS=Object.fromEntries(Object.entries(LIVE.follows).map(([n,f])=>[n,new Set(f)]));
const ENTRIES={};
for(const [kind,{fields,rows}] of Object.entries(LIVE.entries)){
  ENTRIES[kind]={};
  for(const [id,label,values,sources] of rows)
    ENTRIES[kind][id]={label,sources,facts:Object.fromEntries(fields.map((n,i)=>[n,values[i]]))};
}
// A set of variants replaces inputs rung by rung; a rung without a value keeps the case's own.
const replacedBy=set=>[].concat(VARIANTS[set].replaces);
const moves=(set,n)=>FOLLOWS[set].has(n)||replacedBy(set).includes(n)||n in (VARIANTS[set].follows||{});
const number=x=>x===null||x===undefined?NaN:typeof x==="boolean"?+x:x;
const grainOf=n=>F[n]?F[n][0]:FIELDS[n]?({plan:0,group:2,stage:3}[FIELDS[n].entity]??1):0;
const range=n=>[...Array(n).keys()];
const stored={};
function planned(name,i){
  const grain=F[name][0],x=stored[name]??=grain?unpack(doc.values[name]):[doc.values[name]];
  const at=c=>number(c[i]);
  return grain===0?number(x[0]):grain===1?at(x):grain===2?x.map(at):grain===3?x.map(s=>at(s[0])):x.map(s=>s.map(at));
}
function fact(kind,id,name){
  const own=doc.facts[kind]?.[id];
  return number(own?own[name]?.value:ENTRIES[kind]?.[id]?.facts[name]);
}
// All cases of the plan with some inputs replaced; without any, figures are those that were issued.
class Model{
  constructor(over,compute){this.over=over||{};this.compute=compute||Object.keys(this.over).length>0;this.made=[];this.all=new All(this)}
  case(i){return this.made[i]??=new Case(this,i)}
  chosen(kind,i){return kind==="engine"?ENGINE:this.over[kind]??CASES[kind][i]}
}
class Case{
  constructor(model,i,parent,set,rung){Object.assign(this,{model,i,parent,set,rung,$:[],children:{}})}
  child(set,rung){return (this.children[set]??=[])[rung]??=new Case(this.model,this.i,this,set,rung)}
}
class All{constructor(model){this.model=model;this.$=[]}}
function input(c,name){
  if(c.parent)return replaced(c,name)??c.parent[name];
  const {entity,kind,words}=FIELDS[name],{over}=c.model;
  if(entity==="plan"){
    const x=number(over[name]??doc.assumptions[name]);
    return kind==="choice"&&words[x]!==undefined?words[x]:x;
  }
  if(entity==="case")return number(over[name]??CASES.inputs[name]?.[c.i]);
  if(entity==="stage")return range(STAGES);
  const id=c.model.chosen(entity==="group"?"model":entity,c.i);
  if(entity!=="group")return fact(entity,id,name);
  const empty=kind==="places"?".":0; // a slot that the model does not use
  return range(SLOTS).map(g=>doc.groups[id][g]?number(doc.groups[id][g].facts[name].value):empty);
}
function replaced(c,name){
  const place=replacedBy(c.set).indexOf(name),rung=doc.ladders[c.set][c.rung];
  if(place>=0)return Array.isArray(rung)?rung[place]:rung;
  const metric=VARIANTS[c.set].follows?.[name];
  return metric&&c[metric];
}
function compute(c,name){
  const [grain,f,set]=F[name];
  if(grain===0&&!set)return c.model.all[name];
  if(c.parent&&!FOLLOWS[c.set].has(name))return c.parent[name];
  if(set)return doc.ladders[set].map((_,r)=>f(c.child(set,r)));
  if(!c.model.compute&&!c.parent&&name in doc.values)return planned(name,c.i);
  if(grain===1)return f(c);
  if(grain===2)return range(SLOTS).map(g=>f(c,g));
  return range(STAGES).map(t=>grain===3?f(c,t):range(SLOTS).map(g=>f(c,t,g)));
}
function overall(all,name){
  if(!F[name])return FIELDS[name].entity==="plan"?input(all.model.case(0),name):range(COUNT).map(i=>all.model.case(i)[name]);
  if(F[name][0]>0)return range(COUNT).map(i=>all.model.case(i)[name]);
  if(F[name][2])return all.model.case(0)[name]; // a row of variants
  return !all.model.compute&&name in doc.values?planned(name,0):F[name][1](all);
}
let slot=0;
for(const [names,make] of [[F,compute],[FIELDS,input]])for(const name in names){
  const own=slot++; // a place in an array is found faster than a name
  const kept=of=>function(){return this.$[own]??=of(this,name)};
  Object.defineProperty(Case.prototype,name,{get:kept(make)});
  Object.defineProperty(All.prototype,name,{get:kept(overall)});
}
for(const name in CONSTANTS)for(const kind of [Case,All])kind.prototype[name]=number(CONSTANTS[name].value);
const at=(c,name,t,g)=>{const x=c[name],k=grainOf(name);return k===2?x[g]:k===3?x[t]:k===4?x[t][g]:x};

// ---- numbers as people read them: decimal rounding of the shortest text, halves away from zero ----
function decimal(x,shift){const [m,e]=Math.abs(x).toExponential().split("e");return {neg:x<0,digits:m.replace(".",""),e:+e+(shift||0)}}
function scaled(n,d){
  const k=n.e+1+d;
  if(k<0)return 0n;
  if(k>=n.digits.length)return BigInt(n.digits+"0".repeat(k-n.digits.length));
  return BigInt(n.digits.slice(0,k)||"0")+(n.digits[k]>="5"?1n:0n);
}
function digits(n,d){
  const whole=scaled(n,d),s=whole.toString().padStart(d+1,"0"),cut=s.length-d;
  return (n.neg&&whole?"\u2212":"")+grouped(s.slice(0,cut))+(d?"."+s.slice(cut):"");
}
function exponent(n){
  const r=scaled(n,2-n.e).toString(),e=n.e+r.length-3;
  return (n.neg?"\u2212":"")+r[0]+"."+r.slice(1,3)+"e"+(e<0?"\u2212":"")+Math.abs(e);
}
const isWhole=n=>n.digits.replace(/0+$/,"").length<=n.e+1;
function figure(n){
  if(/^0*$/.test(n.digits))return "0";
  if(n.e< -4||n.e>=15)return exponent(n);
  if(isWhole(n))return digits(n,0);
  const d=Math.max(0,2-n.e),carried=scaled(n,d).toString().length-1-d;
  return digits(n,Math.max(0,2-carried));
}
const TAIL={share:" %",ratio:"x"};
function shownText(x,kind,d){
  if(x!==x)return _("unknown");
  if(typeof x==="string")return called(x);
  if(kind==="word"||kind==="flag")return x?_("yes"):_("no");
  const n=decimal(x,kind==="share"?2:0),tail=TAIL[kind]||"";
  if(!x)return "0"+tail;
  if(kind==="count"||kind==="bytes")return isWhole(n)?digits(n,0):figure(n);
  if(d===undefined||n.e+d<0||n.e>=21)return figure(n)+tail; // the column's digits would hide it
  return digits(n,d)+tail;
}
function exactNumber(x){
  if(x!==x)return "unknown";
  if(typeof x==="string")return x;
  if(Number.isInteger(x)&&Math.abs(x)<2**53)return (x<0?"-":"")+grouped(String(Math.abs(x)));
  const [m,e]=Math.abs(x).toExponential(11).split("e"),sign=x<0?"-":"",trim=s=>s.includes(".")?s.replace(/\.?0+$/,""):s;
  if(+e< -4||+e>=12)return sign+trim(m)+"e"+(+e<0?"-":"+")+String(Math.abs(e)).padStart(2,"0");
  const [whole,part]=trim(Math.abs(x).toFixed(Math.max(0,11-e))).split(".");
  return sign+grouped(whole)+(part?"."+part:"");
}
const unitOf=n=>doc.units[n]??LIVE.constants[n]??"1";
// Marks of layers as their numbers: 0-3, 5.
function layersOf(marks){
  const found=[];
  [...marks].forEach((m,n)=>{
    if(m===".")return;
    const last=found.at(-1);
    if(last&&last[1]===n-1)last[1]=n;else found.push([n,n]);
  });
  return found.map(([a,b])=>a===b?`${a}`:`${a}-${b}`).join(", ")||"none";
}
function exact(x,name){
  const unit=unitOf(name),kind=LIVE.shown[name]?.[1];
  if(typeof x==="string"&&FIELDS[name]?.kind==="places")return `layers ${layersOf(x)}`;
  if(typeof x==="string"||x!==x)return exactNumber(x);
  if(kind==="flag")return x?"true":"false";
  return exactNumber(x)+(unit==="1"?"":unit.startsWith("1/")?unit.slice(1):" "+unit);
}

// ---- formulas with numbers put in ----------------------------------------------------------------
const stagesOf=i=>CASES.inputs.pp?.[i]??1;
const groupsOf=i=>Math.min(SLOTS,doc.groups[CASES.model[i]].length);
const LISTED=8;
function listed(values,name){
  const unit=unitOf(name),texts=values.slice(0,LISTED).map(x=>LIVE.shown[name]?.[1]==="flag"&&x===x?(x?"true":"false"):exactNumber(x));
  if(values.length>LISTED)texts.push(_`and ${values.length-LISTED} more`);
  return `[${texts.join("; ")}]`+(unit==="1"?"":" "+unit);
}
function placesOf(i,grain,t,g){
  const found=[];
  for(const a of grain>2?(t===null?range(stagesOf(i)):[t]):[0])
    for(const b of grain===2||grain===4?(g===null?range(groupsOf(i)):[g]):[0])found.push([a,b]);
  return found;
}
const WORDS=LIVE.words,usedIn=n=>[...new Set([...(WORDS[n]||"").matchAll(/\{(\w+)\}/g)].map(m=>m[1]))];
const setIn=n=>Object.keys(VARIANTS).find(v=>new RegExp(`\\b${v}\\b`).test((WORDS[n]||"").replace(/\{\w+\}/g,"")));
function putIn(c,name,t,g){
  const grain=grainOf(name),set=setIn(name),i=c.i,one=stagesOf(i)===1?0:null;
  const here=[grain>2?t:one,grain===2||grain===4?g:null];
  return WORDS[name].replace(/\{(\w+)\}/g,(_,n)=>{
    if(set&&moves(set,n))
      return listed(doc.ladders[set].map((_,r)=>c.child(set,r)[n]),n);
    const k=grainOf(n),places=placesOf(i,k,...here);
    const open=(k>2&&here[0]===null)||((k===2||k===4)&&here[1]===null);
    return open?listed(places.map(p=>at(c,n,...p)),n):exact(at(c,n,...places[0]),n);
  });
}
