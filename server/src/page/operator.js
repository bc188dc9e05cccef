function w(e){return e<100?`${Math.round(e)} s`:e<6e3?`${Math.round(e/60)} min`:e<48*3600?`${Math.round(e/3600)} h`:`${Math.floor(e/86400)} days`}var D=class{#e=[];add(t){let n=this.#e.at(-1),o=n===void 0||n.started_at===t.started_at&&n.clock_ms<=t.clock_ms?this.#e.filter(({clock_ms:r})=>t.clock_ms-r<=3e5):
[];this.#e=[...o,t]}get last(){return this.#e.at(-1)}get span(){let[t,n]=[this.#e[0],this.last];return t===void 0||n===void 0?void 0:[t,n]}get seconds(){return this.
span===void 0?0:N(...this.span)}series(t){return this.#e.slice(1).map((n,s)=>t(this.#e[s],n))}};function N(e,t){return(t.clock_ms-e.clock_ms)/1e3}function S(e,t,n){
let s=N(e,t);return s>0?(n(t)-n(e))/s:void 0}function _(e,t,n,s){let o=s(t)-s(e);return o>0?(n(t)-n(e))/o:void 0}function k(e,t){return e===void 0?t:{count:t.count-
e.count,seconds:t.seconds-e.seconds,below:t.below.map((n,s)=>n-(e.below[s]??0))}}function Y(e){let t=e.reduce((n,{below:s})=>Math.max(n,s.length),0);return{count:e.
reduce((n,{count:s})=>n+s,0),seconds:e.reduce((n,{seconds:s})=>n+s,0),below:Array.from({length:t},(n,s)=>e.reduce((o,{below:r})=>o+(r[s]??0),0))}}function T(e,t,n){
if(e.count<=0)return;let s=n*e.count,o=e.below.findIndex(f=>f>=s);if(o<0)return Number.POSITIVE_INFINITY;let[r,i]=o===0?[0,0]:[t[o-1]??0,e.below[o-1]??0],[d,m]=[
t[o]??0,e.below[o]??0];return m===i?d:r+(d-r)*(s-i)/(m-i)}function C(e,t,n){let s=t.findIndex(o=>o>=n);return e.count-(s<0?e.count:e.below[s]??0)}var be="/v1/authentications",Z=1,we={internal:"read the log: each such request has a line with its request id",overloaded:"see the queue, the processor and `pip\
eline.nonces` below; add cores or another service, or let callers send fewer","quota-exceeded":"see which tenant sends more than is answered in time; add cores,\
 or raise limits.in_flight_per_tenant",unsealed:"make room on the disk, and see the log: logins were decided and not attested","storage-damaged":"keep a copy, c\
heck the disk, then restore the whole directory from the newest backup","disk-low":"make room; the service recovers within seconds","key-holder-unavailable":"st\
art the key-holder, or correct keyholder.url; its fingerprint and the list of its clients have to fit",undecided:"see the log of the key-holder","policy-out-of-\
step":"set the tenant's policy again, or the key-holder's threshold","timed-out":"see the stages below: which one became slow"};function J(e,t){let n=[],s=`in t\
he last ${w(N(e,t))}`,o=(a,c,b,O)=>{n.push({level:a,code:c,place:"the last minutes",what:b,remedy:O})};for(let[a,c]of B(e,t)){let b=we[a];b!==void 0&&o("warning",
a,`${c} requests got \`${a}\` ${s}`,b)}let r=t.requests.map(a=>({times:a,grown:k(P(e,a),a)})),i=r.reduce((a,{grown:c})=>a+c.count,0),d=r.filter(({times:a})=>a.status>=
500).reduce((a,{grown:c})=>a+c.count,0);d>.01*i&&o("broken","server-errors",`${d} of ${i} answers were 5xx ${s}`,"see the refusals below by code, and the log");
let m=Y(r.filter(({times:a})=>a.route===be).map(({grown:a})=>a)),f=T(m,t.request_bounds_s,.99);if(f!==void 0&&f>Z&&C(m,t.request_bounds_s,Z)>=3&&o("warning","sl\
ow-logins",`the slowest hundredth of the logins took over a second ${s}`,"see the stages below, then processor and disk"),t.queue.used>t.queue.limit/2){let a=`${t.
queue.used} of ${t.queue.limit} logins wait for a batch`;o("warning","queue-full",a,"more logins come than the cores match: add cores or another service")}let h=_(
e,t,({key_holder:a})=>a?.failures??0,({key_holder:a})=>a?.attempts??0),p=(t.key_holder?.attempts??0)-(e.key_holder?.attempts??0);if(h!==void 0&&h>.5&&p>=60){let a=`\
more than half of ${p} attempts failed ${s}: somebody may be trying faces`;o("warning","failed-attempts",a,"see which tenant's logins fail; budgets stop each su\
bject's attempts by themselves")}return n.sort((a,c)=>M(a)-M(c))}function B(e,t){let n=new Map;for(let{code:s,route:o,count:r}of t.problems){let i=e.problems.find(
d=>d.code===s&&d.route===o)?.count??0;r>i&&n.set(s,(n.get(s)??0)+r-i)}return n}function P(e,{method:t,route:n,status:s}){return e.requests.find(o=>o.method===t&&
o.route===n&&o.status===s)}function M({level:e}){return{broken:0,warning:1,ok:2}[e]}var ye="http://www.w3.org/2000/svg",Q="/v1/authentications",[F,v]=[150,36],X=({logins:e})=>e.matched+e.not_matched,ee=({problems:e})=>e.reduce((t,{count:n})=>t+
n,0),$e=({caches:e})=>e.reduce((t,{hits:n})=>t+n,0),Se=({caches:e})=>e.reduce((t,{hits:n,misses:s})=>t+n+s,0),te=({requests:e})=>e.reduce((t,{status:n,count:s})=>t+
(n>=500?s:0),0),ke=e=>(t,n)=>{let s=n.stages.find(({stage:r})=>r===e),o=t.stages.find(({stage:r})=>r===e);return s&&T(k(o,s),n.stage_bounds_s,.99)},Te=[{name:"L\
ogins",value:(e,t)=>S(e,t,X),text:E,note:e=>`${u(X(e))} since the start`},{name:"Time of a batch with its seal, p99",value:ke("total"),text:ae,note:()=>"of a hu\
ndred batches, 99 take less"},{name:"Batch fill",value:(e,t)=>{let n=_(e,t,({batches:s})=>s.lanes,({batches:s})=>s.sealed);return n===void 0?void 0:n/t.batches.
lanes_max},text:W,note:({batches:e})=>`of ${e.lanes_max} logins; fuller is cheaper`,top:1},{name:"Sessions found in the cache",value:(e,t)=>_(e,t,$e,Se),text:W,
note:()=>"the others are read from the store",top:1},{name:"Seals",value:(e,t)=>S(e,t,({seals:n})=>n.stored),text:E,note:({seals:e})=>`${u(e.stored)} since the \
start, ${u(e.pruned)} pruned`},{name:"Refusals",value:(e,t)=>S(e,t,ee),text:E,note:e=>`${u(ee(e))} since the start, by code below`},{name:"Server errors",value:(e,t)=>S(
e,t,te),text:E,note:e=>`${u(te(e))} answers were 5xx`},{name:"Processor",value:(e,t)=>S(e,t,({process:n})=>n.processor_seconds??0),text:Oe,note:({process:e})=>e.
memory_bytes===null?"":`${z(e.memory_bytes)} of memory`}];function se(e,t){let n=e.span;if(n===void 0)return;let[s,o]=n;y(t("attention"),Me(s,o)),y(t("tiles"),Te.
map(i=>Ee(i,e))),y(t("stages"),De(s,o)),y(t("requests"),Ne(s,o)),y(t("refusals"),Ce(s,o)),y(t("tenants"),Fe(s,o)),y(t("key-holders"),Ie(s,o)),y(t("rest"),Ae(o));
let r=e.seconds<1?"Rates and percentiles need a second look: in two seconds.":xe(e.seconds);t("window").textContent=r,t("about").textContent=`${o.issuer}, versi\
on ${o.version}, up for ${_e(o)}`}function xe(e){return`Rates and percentiles are over the last ${w(e)}; this page keeps five minutes.`}function _e({now:e,started_at:t}){
return w(Math.max(0,e-t))}function Me(e,t){let n=[...t.attention,...J(e,t)].sort((o,r)=>M(o)-M(r));if(n.length>0)return n.map(ve);let s=l("li","","calm");return s.
append(oe("ok","All well"),l("p","Nothing wants attention. Watched: certificate, signing keys, disk, key-holder, attempts without a budget, log, refusals, error\
s, slow logins.")),[s]}function ve({level:e,code:t,place:n,what:s,remedy:o}){let r=l("li","",e),i=l("p","","next");i.append(l("strong","Next: "),...j(o));let d=l(
"p","","what");return d.append(...j(s)),r.append(oe(e,e==="broken"?"Broken":"Warning"),d,i,l("p",`${t}, ${n}`,"place")),r}function oe(e,t){let n={ok:"\u2713",warning:"\
!",broken:"\u2715"}[e],s=l("span","",`badge ${e}`),o=l("span",n);return o.setAttribute("aria-hidden","true"),s.append(o,` ${t}`),s}function Ee({name:e,value:t,text:n,
note:s,top:o},r){let i=r.series(t),d=i.at(-1),m=l("div","","tile"),f=l("h3",e);m.append(f,l("p",d===void 0?"\u2013":n(d),"value")),m.append(Le(i,`${e} over five\
 minutes`,n,o));let{last:h}=r;return m.append(l("p",h?s(h):"","note")),m}function Le(e,t,n,s){let o=R("svg",{viewBox:`0 0 ${F} ${v}`,role:"img",preserveAspectRatio:"\
none"}),r=e.filter(a=>a!==void 0&&Number.isFinite(a)),i=Math.max(...r,0),d=Math.min(...r,i),m=R("title",{});m.textContent=r.length===0?`${t}: nothing yet`:`${t}\
: from ${n(d)} to ${n(i)}`,o.append(m,R("line",{x1:0,x2:F,y1:v-1,y2:v-1,class:"base"}));let f=F/Math.max(e.length-1,30),h=s??(i||1),p=F-f*(e.length-1);for(let a of He(
e)){let c=a.map(([O,he])=>{let[pe,ge]=[p+O*f,v-2-(v-4)*Math.min(1,he/h)];return`${pe.toFixed(1)},${ge.toFixed(1)}`}),b=c.length===1;b&&c.push(c[0]),o.append(R("\
polyline",{points:c.join(" "),class:b?"trace dot":"trace"}))}return o}function He(e){let t=[[]];return e.forEach((n,s)=>{n!==void 0&&Number.isFinite(n)?t.at(-1)?.
push([s,n]):t.at(-1)?.length&&t.push([])}),t.filter(n=>n.length>0)}var qe={proof_lookup:"Prove: look the verdicts up",match:"Match, with the templates encrypted",
key_holder:"Key-holder: decrypt and decide",digest:"Digest: one statement for each",seal:"Sign: one seal over what waits",total:"All, from batch to seal"};function De(e,t){
let n=t.stages.map(s=>{let o=k(e.stages.find(({stage:i})=>i===s.stage),s),r=i=>ue(T(o,t.stage_bounds_s,i));return[qe[s.stage]??s.stage,r(.5),r(.99),u(o.count)]});
return[x("Stages of a batch",["Stage","Median","p99","How many"],n)]}function Ne(e,t){let n=(t.clock_ms-e.clock_ms)/1e3,s=t.requests.map(r=>({times:r,grown:k(P(
e,r),r)})).filter(({grown:r})=>r.count>0).sort((r,i)=>+(i.times.route===Q)-+(r.times.route===Q)||i.grown.count-r.grown.count).map(({times:r,grown:i})=>{let d=h=>ue(
T(i,t.request_bounds_s,h)),m=C(i,t.request_bounds_s,1);return[r.route==="-"?"no such route":`${r.method} ${r.route}`,`${r.status}`,n>0?E(i.count/n):"\u2013",d(.5),
d(.99),u(m)]}),o=["Request","Status","Rate","Median","p99","Over 1 s"];return[s.length>0?x("Requests by route and status",o,s):l("p","No request yet.","empty")]}
function Ce(e,t){let n=B(e,t),s=[...t.problems].sort((r,i)=>(n.get(i.code)??0)-(n.get(r.code)??0)||i.count-r.count).map(({code:r,route:i,count:d,title:m,cure:f})=>{
let h=e.problems.find(p=>p.code===r&&p.route===i)?.count??0;return[`${m} (${r})`,i==="-"?"no such route":i,u(d-h),u(d),f]}),o=["Refusal","Route","Lately","Since\
 the start","What the caller does"];return[s.length>0?x("Refusals and faults by code",o,s):l("p","Nothing was refused.","empty")]}function Fe(e,t){let n=t.caches.
map(o=>{let r=e.caches.find(({tenant:c})=>c===o.tenant),i=c=>c(o)-(r===void 0?0:c(r)),d=i(({hits:c,misses:b})=>c+b),m=d>0?W(i(({hits:c})=>c)/d):"\u2013",[f,h]=[
i(c=>c.admissions_won),i(c=>c.admissions_lost)],p=t.key_holder?.frozen.includes(o.tenant)?", frozen":"";return[`${re(t,o.tenant)}${o.disabled?", disabled":""}${p}`,
u(d),m,`${u(o.entries)} of ${u(o.capacity)}`,`${u(f)} of ${u(f+h)}`,u(i(({evictions:c})=>c))]}),s=["Tenant","Look-ups","Found","Sessions held","Admitted","Made \
room"];return[n.length>0?x("Session cache of each tenant",s,n):l("p","There is no tenant: trefoil admin tenant create makes one.","empty")]}function re({caches:e},t){
return`${e.find(s=>s.tenant===t)?.name??""} (${t.slice(0,8)}\u2026)`}function Re(e){let t=(e.key_holder?.budget_trips_by_tenant??[]).map(({tenant:s,trips:o,recent:r})=>[
re(e,s),u(r),u(o)]);return t.length>0?[x("Attempts refused because a budget was spent",["Tenant","In the last minutes","Since its start"],t)]:[]}function Ie(e,t){
let{key_holder:n,key_holders:s}=t,o=[];if(n===null)o.push(l("p","The key-holder has not said what it counts.","empty"));else{let r=i=>i(n)-(e.key_holder===null?
0:i(e.key_holder));o.push(ie([["Attempts, lately",`${u(r(({attempts:i})=>i))}, of which ${u(r(({failures:i})=>i))} failed`],["Attempts since its start",`${u(n.attempts)}\
, of which ${u(n.failures)} failed`],["Refused since its start, budget spent",u(n.budget_trips)],["Enrolments since its start",u(n.enrolments)],["Malformed jobs",
n.malformed===0?"none":u(n.malformed)],["Frozen tenants",n.frozen.length===0?"none":n.frozen.join(", ")],["Tenants that it knows",u(n.tenants)],["Templates that\
 it has keys of",u(n.templates)]]),...Re(t))}if(s.length>0){let r=s.map(({seat:i,address:d,away:m,silent:f,disagreed:h,lied:p,accused:a})=>[`${i}, ${d}`,m===null?
"there":`away: ${m}`,...[f,h,p,a].map(u)]);o.push(x("The three key-holders",["Seat","State","Silent","Disagreed","Lied","Accused"],r))}return o}function Ae(e){let{
disk:t,queue:n,nonces:s,templates:o,proofs:r,seals:i,process:d}=e,m=[["TLS certificate",ne(e.certificate_until,e.now)],["Signing keys",ne(e.signing_keys_until,e.
now)],["Disk",`${z(t.free_bytes)} free; below ${z(t.low_water_bytes)} logins are refused`],...e.connections.map(({listener:f,open:h,limit:p,refused:a})=>[`Conne\
ctions, ${f}`,`${u(h)} of ${u(p)} open, ${u(a)} dropped`]),["Logins that wait for a batch",`${u(n.used)} of ${u(n.limit)}`],["Nonces of two minutes",`${u(s.used)}\
 of ${u(s.limit)}`],["Requests of a tenant in flight",`at most ${u(e.in_flight_limit)}`],["Proofs",`${u(r.accepted)} accepted, ${u(r.refused)} refused, ${u(r.waiting)}\
 wait`],["Templates in memory",`${u(o.used)} of ${u(o.limit)}`],["A seal waits for the store",i.waits?"yes":"no"],["Log lines lost",u(e.log_lines_lost)],["Open \
files",d.open_files===null?"unknown":u(d.open_files)]];return[ie(m)]}function ne(e,t){if(e===null)return"unknown";let n=new Date(e*1e3).toISOString().slice(0,10);
return e<=t?`ended on ${n}`:`until ${n}, in ${w(e-t)}`}function x(e,t,n){let s=l("table",""),o=l("thead",""),r=l("tr","");r.append(...t.map(d=>I(l("th",d),{scope:"\
col"}))),o.append(r);let i=l("tbody","");for(let[d="",...m]of n){let f=l("tr","");f.append(I(l("th",d),{scope:"row"})),f.append(...m.map((h,p)=>{let a=I(l("td",
""),{"data-name":t[p+1]??""}),c=l("span","");return c.append(...j(h)),a.append(c),a})),i.append(f)}return s.append(l("caption",e),o,i),s}function j(e){return e.
split("`").map((t,n)=>n%2===1?l("code",t):t)}function ie(e){let t=l("dl","");for(let[n,s]of e)t.append(l("dt",n),l("dd",s));return t}function y(e,t){let n=document.
createElement("div");n.append(...t),n.innerHTML!==e.innerHTML&&e.replaceChildren(...t)}function I(e,t){for(let[n,s]of Object.entries(t))e.setAttribute(n,`${s}`);
return e}function R(e,t){return I(document.createElementNS(ye,e),t)}function l(e,t,n=""){let s=document.createElement(e);return s.textContent=t,n!==""&&(s.className=
n),s}function u(e){return Math.round(e).toLocaleString("en")}function E(e){if(e>0&&e<.05)return"< 0.1 /s";let t=e!==0&&e<10?1:0;return`${e.toLocaleString("en",{
minimumFractionDigits:t,maximumFractionDigits:t})} /s`}function W(e){return`${(100*e).toFixed(e>0&&e<.1?1:0)} %`}function Oe(e){return`${e.toFixed(2)} cores`}function ae(e){
return Number.isFinite(e)?e<.001?`${Math.round(e*1e6)} \xB5s`:e<.01?`${(e*1e3).toFixed(1)} ms`:e<1?`${Math.round(e*1e3)} ms`:`${e.toFixed(1)} s`:"over the scale"}
function ue(e){return e===void 0?"\u2013":ae(e)}function z(e){let t=["B","KiB","MiB","GiB","TiB"],n=e<1?0:Math.min(t.length-1,Math.floor(Math.log2(e)/10));return`${(e/
1024**n).toFixed(n===0?0:1)} ${t[n]}`}var Be=2e3,de=5e3,ce=new D,K=g("enter",HTMLFormElement),V=g("token",HTMLInputElement),U=g("refused",HTMLElement),A=g("figures",HTMLElement),le=g("lost",HTMLElement),
me=g("wants",HTMLElement),Pe=g("lost-text",HTMLElement),G=g("pause",HTMLButtonElement),$="",L=!1,H=0;function g(e,t){let n=document.getElementById(e);if(!(n instanceof
t))throw new Error(`the page has no ${e}`);return n}async function je(){let e={authorization:`Bearer ${$}`};try{let t=AbortSignal.timeout(de),n=await fetch("/v1\
/status",{headers:e,signal:t,credentials:"omit",cache:"no-store"});return n.status===401||n.status===403?{refused:"The service does not take this token. The adm\
in token is in the file admin.token of the data directory."}:n.ok?{status:await n.json()}:{silent:`it answered with status ${n.status}`}}catch(t){return{silent:t instanceof
DOMException&&t.name==="TimeoutError"?`no answer within ${de/1e3} s`:"it cannot be reached"}}}function We(e){if("refused"in e)return Ge(e.refused);if("silent"in
e)return Ve(e.silent);H=Date.now(),le.hidden=!0,me.hidden=!1,A.classList.remove("old"),ce.add(e.status),K.hidden=!0,A.hidden=!1,se(ce,n=>g(n,HTMLElement));let t=new Date(
H).toTimeString().slice(0,8);g("state",HTMLElement).textContent=e.status.ready?`Takes logins. Last answer at ${t}.`:`Takes no logins. Last answer at ${t}.`,document.
title=`${ze(e.status)} \u2013 Trefoil`}function ze({ready:e,attention:t}){return e?t.length===0?"All well":`${t.length} to look at`:"Takes no logins"}function Ge(e){
$="",U.textContent=e,K.hidden=!1,A.hidden=!0,V.focus()}function Ve(e){if(document.title="Does not answer \u2013 Trefoil",H===0){U.textContent=`The service does \
not answer: ${e}. See whether it runs, then try again.`,$="";return}let[t,n]=[new Date(H).toTimeString().slice(0,8),w((Date.now()-H)/1e3)];Pe.textContent=`Its l\
ast answer came at ${t}, ${n} ago; since then ${e}. Everything below is from then.`,le.hidden=!1,me.hidden=!0,g("state",HTMLElement).textContent="Not known: the\
 service does not answer.",A.classList.add("old")}async function fe(){$!==""&&!L&&We(await je()),$!==""&&setTimeout(()=>{fe()},Be)}K.addEventListener("submit",e=>{
e.preventDefault();let t=V.value.trim();V.value="",U.textContent=t===""?"Enter the admin token.":"",!(t===""||$!=="")&&($=t,fe())});G.addEventListener("click",()=>{
L=!L,G.setAttribute("aria-pressed",`${L}`),G.textContent=L?"Go on":"Pause"});
