// Figures as people read them: decimal rounding of the shortest text, halves away from zero.
const FORMATS={},isText=x=>typeof x==="string";
const format=(s,how)=>(FORMATS[JSON.stringify(how)]??=new Intl.NumberFormat("en",how)).format(s);
const signed=s=>s.replaceAll("-","\u2212");
function decimal(x,shift=0){
  const [m,power]=x.toExponential().split("e"),e=+power+shift;
  return {s:m+"e"+e,e,whole:m.replace(/\D/g,"").length<=e+1};
}
const digits=(s,d)=>signed(format(s,{minimumFractionDigits:d,maximumFractionDigits:d,signDisplay:"negative"}));
const THREE={minimumSignificantDigits:3,maximumSignificantDigits:3};
function figure({s,e,whole}){
  if(e< -4||e>=15)return signed(format(s,{...THREE,notation:"scientific"}).toLowerCase());
  return whole||e>2?digits(s,0):signed(format(s,THREE));
}
const TAIL={share:" %",ratio:"x"};
function shownText(x,kind,d){
  if(x!==x)return _("unknown");
  if(isText(x))return called(x);
  if(kind==="word"||kind==="flag")return x?_("yes"):_("no");
  const n=decimal(x,kind==="share"?2:0),tail=TAIL[kind]||"";
  if(!x)return "0"+tail;
  if(kind==="count"||kind==="bytes")return n.whole&&n.e<21?digits(n.s,0):figure(n);
  // A figure that the digits of its column would hide has its own.
  return (d===undefined||n.e+d<0||n.e>=21?figure(n):digits(n.s,d))+tail;
}
function exactNumber(x){
  if(x!==x)return "unknown";
  if(isText(x))return x;
  if(Number.isInteger(x)&&Math.abs(x)<2**53)return format(x,{signDisplay:"negative"});
  const [m,e]=x.toExponential(11).split("e");
  if(e>=-4&&e<12)return format(x,{maximumSignificantDigits:12});
  return +m+"e"+(e<0?"-":"+")+String(Math.abs(e)).padStart(2,"0");
}
const unitOf=n=>doc.units[n]??LIVE.constants[n]??"1",kindOf=n=>LIVE.shown[n]?.[1];
const flagText=(x,n)=>kindOf(n)==="flag"&&x===x?(x?"true":"false"):exactNumber(x);
// Marks of layers as their numbers: 0-3, 5.
function layersOf(marks){
  const found=[];
  [...marks].forEach((m,n)=>{
    if(m===".")return;
    const last=found.at(-1);
    if(last?.[1]===n-1)last[1]=n;else found.push([n,n]);
  });
  return found.map(([a,b])=>a===b?a:`${a}-${b}`).join(", ")||"none";
}
function exact(x,name){
  const unit=unitOf(name);
  if(isText(x))return FIELDS[name]?.kind==="places"?`layers ${layersOf(x)}`:x;
  if(x!==x||kindOf(name)==="flag")return flagText(x,name);
  return exactNumber(x)+(unit==="1"?"":unit.startsWith("1/")?unit.slice(1):" "+unit);
}

// What a figure stands for: a metric m of case i in stage t and layer group g, and where it is one of
// a set of variants, rung r of it; d digits after the point.
const placed=p=>(p||"0 0").split(" ").map(Number);
const caseAt=({i,set,r},of=model)=>set?of.case(i).child(set,r):of.case(i);
const valueOf=(ref,of)=>at(caseAt(ref,of),ref.m,ref.t,ref.g);
// A cell that does not apply: by another column, a bound that is never shown, a context too long.
function isAbsent(ref,x,of){
  const c=caseAt(ref,of),{m,set}=ref;
  if(set){
    const by=replacedBy(set);
    if(by.some(n=>LIVE.unfit[n]&&c[LIVE.unfit[n]]===0))return true;
    const across=by.includes("context")||"context" in (VARIANTS[set].follows||{})?"context":"context_start";
    return across in c&&c[across]>c.max_context;
  }
  if(LIVE.bounded.includes(m)&&x>=LIVE.bound)return true;
  const rule=LIVE.absent[m];
  return Boolean(rule)&&at(c,rule[0],ref.t,ref.g)===rule[1];
}
const scaled=(x,m)=>{const [factor,kind]=LIVE.shown[m]??[1];return isText(x)||kind==="share"||kind==="flag"?x:x/factor};
const displayText=(m,x,d)=>shownText(scaled(x,m),kindOf(m)??"figure",d);
function textOf(ref,of){
  const x=valueOf(ref,of);
  return isAbsent(ref,x,of)?"\u2013":displayText(ref.m,x,ref.d);
}
