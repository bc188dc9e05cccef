function w(t){return t<100?`${Math.round(t)} s`:t<6e3?`${Math.round(t/60)} min`:t<48*3600?`${Math.round(t/3600)} h`:`${Math.floor(t/86400)} days`}var R=class{#t=[];stood=new Set;add(e){let n=this.#t.at(-1),o=n===void 0||n.started_at===e.started_at&&n.clock_ms<=e.clock_ms?this.#t.filter(({clock_ms:r})=>e.clock_ms-
r<=3e5):[];this.#t=[...o,e]}get last(){return this.#t.at(-1)}get span(){let[e,n]=[this.#t[0],this.last];return e===void 0||n===void 0?void 0:[e,n]}get seconds(){
return this.span===void 0?0:C(...this.span)}series(e){return this.#t.slice(1).map((n,s)=>e(this.#t[s],n))}};function C(t,e){return(e.clock_ms-t.clock_ms)/1e3}function T(t,e,n){
let s=C(t,e);return s>0?(n(e)-n(t))/s:void 0}function P(t,e,n,s){let o=s(e)-s(t);return o>0?(n(e)-n(t))/o:void 0}function x(t,e){return t===void 0?e:{count:e.count-
t.count,seconds:e.seconds-t.seconds,below:e.below.map((n,s)=>n-(t.below[s]??0))}}function J(t){let e=t.reduce((n,{below:s})=>Math.max(n,s.length),0);return{count:t.
reduce((n,{count:s})=>n+s,0),seconds:t.reduce((n,{seconds:s})=>n+s,0),below:Array.from({length:e},(n,s)=>t.reduce((o,{below:r})=>o+(r[s]??0),0))}}function _(t,e,n){
if(t.count<=0)return;let s=n*t.count,o=t.below.findIndex(f=>f>=s);if(o<0)return Number.POSITIVE_INFINITY;let[r,a]=o===0?[0,0]:[e[o-1]??0,t.below[o-1]??0],[d,m]=[
e[o]??0,t.below[o]??0];return m===a?d:r+(d-r)*(s-a)/(m-a)}function q(t,e,n){let s=e.findIndex(o=>o>=n);return t.count-(s<0?t.count:t.below[s]??0)}var bt="/v1/authentications",Q=1,wt={internal:"read the log: each such request has a line with its request id",overloaded:"see the queue, the processor and `pip\
eline.nonces` below; add cores or another service, or let callers send fewer","quota-exceeded":"see which tenant sends more than is answered in time; add cores,\
 or raise limits.in_flight_per_tenant",unsealed:"make room on the disk, and see the log: logins were decided and not attested","storage-damaged":"keep a copy, c\
heck the disk, then restore the whole directory from the newest backup","disk-low":"make room; the service recovers within seconds","key-holder-unavailable":"st\
art the key-holder, or correct keyholder.url; its fingerprint and the list of its clients have to fit",undecided:"see the log of the key-holder","policy-out-of-\
step":"set the tenant's policy again, or the key-holder's threshold","timed-out":"see the stages below: which one became slow"};function X(t,e,n=new Set){let s=[],
o=`in the last ${w(C(t,e))}`,r=(i,g,k,B)=>{s.push({level:i,code:g,place:"the last minutes",what:k,remedy:B})};for(let[i,g]of j(t,e)){let k=wt[i];k!==void 0&&r("\
warning",i,`${g} requests got \`${i}\` ${o}`,k)}let a=e.requests.map(i=>({times:i,grown:x(W(t,i),i)})),d=a.reduce((i,{grown:g})=>i+g.count,0),m=a.filter(({times:i})=>i.
status>=500).reduce((i,{grown:g})=>i+g.count,0);m>(n.has("server-errors")?.005:.01)*d&&r("broken","server-errors",`${m} of ${d} answers were 5xx ${o}`,"see the \
refusals below by code, and the log");let f=J(a.filter(({times:i})=>i.route===bt).map(({grown:i})=>i)),h=_(f,e.request_bounds_s,.99),[c,p]=n.has("slow-logins")?
[Q/2,1]:[Q,3];return h!==void 0&&h>c&&q(f,e.request_bounds_s,c)>=p&&r("warning","slow-logins",`the slowest hundredth of the logins took over ${c} s ${o}`,"see t\
he stages below, then processor and disk"),s.sort((i,g)=>M(i)-M(g))}function j(t,e){let n=new Map;for(let{code:s,route:o,count:r}of e.problems){let a=t.problems.
find(d=>d.code===s&&d.route===o)?.count??0;r>a&&n.set(s,(n.get(s)??0)+r-a)}return n}function W(t,{method:e,route:n,status:s}){return t.requests.find(o=>o.method===
e&&o.route===n&&o.status===s)}function M({level:t}){return{broken:0,warning:1,ok:2}[t]}var $t="http://www.w3.org/2000/svg",tt="/v1/authentications",[F,E]=[150,36],et=({logins:t})=>t.matched+t.not_matched,nt=({problems:t})=>t.reduce((e,{count:n})=>e+
n,0),yt=({caches:t})=>t.reduce((e,{hits:n})=>e+n,0),St=({caches:t})=>t.reduce((e,{hits:n,misses:s})=>e+n+s,0),st=({requests:t})=>t.reduce((e,{status:n,count:s})=>e+
(n>=500?s:0),0),kt=t=>(e,n)=>{let s=n.stages.find(({stage:r})=>r===t),o=e.stages.find(({stage:r})=>r===t);return s&&_(x(o,s),n.stage_bounds_s,.99)},Tt=[{name:"L\
ogins",value:(t,e)=>T(t,e,et),text:v,note:t=>`${u(et(t))} since the start`},{name:"Time of a batch with its seal, p99",value:kt("total"),text:ut,note:()=>"of a \
hundred batches, 99 take less"},{name:"Batch fill",value:(t,e)=>{let n=P(t,e,({batches:s})=>s.lanes,({batches:s})=>s.sealed);return n===void 0?void 0:n/e.batches.
lanes_max},text:L,note:({batches:t})=>`of ${t.lanes_max} logins; fuller is cheaper`,top:1},{name:"Sessions found in the cache",value:(t,e)=>P(t,e,yt,St),text:L,
note:()=>"the others are read from the store",top:1},{name:"Seals",value:(t,e)=>T(t,e,({seals:n})=>n.stored),text:v,note:({seals:t})=>`${u(t.stored)} since the \
start, ${u(t.pruned)} pruned`},{name:"Refusals",value:(t,e)=>T(t,e,nt),text:v,note:t=>`${u(nt(t))} since the start, by code below`},{name:"Server errors",value:(t,e)=>T(
t,e,st),text:v,note:t=>`${u(st(t))} answers were 5xx`},{name:"Processor",value:(t,e)=>T(t,e,({process:n})=>n.processor_seconds??0),text:Bt,note:({process:t})=>t.
memory_bytes===null?"":`${G(t.memory_bytes)} of memory`}];function rt(t,e){let n=t.span;if(n===void 0)return;let[s,o]=n;$(e("attention"),Mt(t,s,o)),$(e("tiles"),
Tt.map(a=>vt(a,t))),$(e("stages"),Nt(s,o)),$(e("requests"),Rt(s,o)),$(e("refusals"),Ct(s,o)),$(e("tenants"),[...qt(o),...Ft(s,o)]),$(e("key-holders"),Ot(s,o)),$(
e("rest"),At(o));let r=t.seconds<1?"Rates and percentiles need a second look: in two seconds.":xt(t.seconds);e("window").textContent=r,e("about").textContent=`${o.
issuer}, version ${o.version}, up for ${_t(o)}`}function xt(t){return`Rates and percentiles are over the last ${w(t)}; this page keeps five minutes.`}function _t({
now:t,started_at:e}){return w(Math.max(0,t-e))}function Mt(t,e,n){let s=X(e,n,t.stood);t.stood=new Set(s.map(({code:a})=>a));let o=[...n.attention,...s].sort((a,d)=>M(
a)-M(d));if(o.length>0)return o.map(Et);let r=l("li","","calm");return r.append(at("ok","All well"),l("p","Nothing wants attention. Watched: certificate, signin\
g keys, disk, key-holder, attempts without a budget, refusals of each tenant, log, errors, slow logins.")),[r]}function Et({level:t,code:e,place:n,what:s,remedy:o}){
let r=l("li","",t),a=l("p","","next");a.append(l("strong","Next: "),...z(o));let d=l("p","","what");return d.append(...z(s)),r.append(at(t,t==="broken"?"Broken":
"Warning"),d,a,l("p",`${e}, ${n}`,"place")),r}function at(t,e){let n={ok:"\u2713",warning:"!",broken:"\u2715"}[t],s=l("span","",`badge ${t}`),o=l("span",n);return o.
setAttribute("aria-hidden","true"),s.append(o,` ${e}`),s}function vt({name:t,value:e,text:n,note:s,top:o},r){let a=r.series(e),d=a.at(-1),m=l("div","","tile"),f=l(
"h3",t);m.append(f,l("p",d===void 0?"\u2013":n(d),"value")),m.append(Lt(a,`${t} over five minutes`,n,o));let{last:h}=r;return m.append(l("p",h?s(h):"","note")),
m}function Lt(t,e,n,s){let o=I("svg",{viewBox:`0 0 ${F} ${E}`,role:"img",preserveAspectRatio:"none"}),r=t.filter(p=>p!==void 0&&Number.isFinite(p)),a=Math.max(...r,
0),d=Math.min(...r,a),m=I("title",{});m.textContent=r.length===0?`${e}: nothing yet`:`${e}: from ${n(d)} to ${n(a)}`,o.append(m,I("line",{x1:0,x2:F,y1:E-1,y2:E-
1,class:"base"}));let f=F/Math.max(t.length-1,30),h=s??(a||1),c=F-f*(t.length-1);for(let p of Ht(t)){let i=p.map(([k,B])=>{let[pt,gt]=[c+k*f,E-2-(E-4)*Math.min(
1,B/h)];return`${pt.toFixed(1)},${gt.toFixed(1)}`}),g=i.length===1;g&&i.push(i[0]),o.append(I("polyline",{points:i.join(" "),class:g?"trace dot":"trace"}))}return o}
function Ht(t){let e=[[]];return t.forEach((n,s)=>{n!==void 0&&Number.isFinite(n)?e.at(-1)?.push([s,n]):e.at(-1)?.length&&e.push([])}),e.filter(n=>n.length>0)}var Dt={
proof_lookup:"Prove: look the verdicts up",match:"Match, with the templates encrypted",key_holder:"Key-holder: decrypt and decide",digest:"Digest: one statement\
 for each",seal:"Sign: one seal over what waits",total:"All, from batch to seal"};function Nt(t,e){let n=e.stages.map(s=>{let o=x(t.stages.find(({stage:a})=>a===
s.stage),s),r=a=>dt(_(o,e.stage_bounds_s,a));return[Dt[s.stage]??s.stage,r(.5),r(.99),u(o.count)]});return[y("Stages of a batch",["Stage","Median","p99","How ma\
ny"],n)]}function Rt(t,e){let n=(e.clock_ms-t.clock_ms)/1e3,s=e.requests.map(r=>({times:r,grown:x(W(t,r),r)})).filter(({grown:r})=>r.count>0).sort((r,a)=>+(a.times.
route===tt)-+(r.times.route===tt)||a.grown.count-r.grown.count).map(({times:r,grown:a})=>{let d=h=>dt(_(a,e.request_bounds_s,h)),m=q(a,e.request_bounds_s,1);return[
r.route==="-"?"no such route":`${r.method} ${r.route}`,`${r.status}`,n>0?v(a.count/n):"\u2013",d(.5),d(.99),u(m)]}),o=["Request","Status","Rate","Median","p99",
"Over 1 s"];return[s.length>0?y("Requests by route and status",o,s):l("p","No request yet.","empty")]}function Ct(t,e){let n=j(t,e),s=[...e.problems].sort((r,a)=>(n.
get(a.code)??0)-(n.get(r.code)??0)||a.count-r.count).map(({code:r,route:a,count:d,title:m,cure:f})=>{let h=t.problems.find(c=>c.code===r&&c.route===a)?.count??0;
return[`${m} (${r})`,a==="-"?"no such route":a,u(d-h),u(d),f]}),o=["Refusal","Route","Lately","Since the start","What the caller does"];return[s.length>0?y("Ref\
usals and faults by code",o,s):l("p","Nothing was refused.","empty")]}function qt(t){let e=t.tenants.filter(({day:s})=>s.matched+s.not_matched+s.turned_away>0).
map(({tenant:s,hour:o,day:r,model_refuses:a})=>{let d=c=>`${u(c(o))} / ${u(c(r))}`,m=c=>c.not_matched+c.turned_away,f=c=>m(c)>0?L(m(c)/(c.matched+m(c))):"0 %",h=a===
null?"not known":L(a);return[V(t,s),d(({matched:c})=>c),d(({not_matched:c})=>c),d(({locked_out:c})=>c),d(({turned_away:c})=>c),`${f(o)} / ${f(r)}`,h]}),n=["Tena\
nt","Matched","No match","Of these without an attempt left","Turned away","Refused","Expected of its model"];return e.length>0?[y("Logins of each tenant: last h\
our / last day",n,e)]:[]}function Ft(t,e){let n=e.caches.map(o=>{let r=t.caches.find(({tenant:i})=>i===o.tenant),a=i=>i(o)-(r===void 0?0:i(r)),d=a(({hits:i,misses:g})=>i+
g),m=d>0?L(a(({hits:i})=>i)/d):"\u2013",[f,h]=[a(i=>i.admissions_won),a(i=>i.admissions_lost)],c=e.key_holder?.frozen.includes(o.tenant)?", frozen":"";return[`${V(
e,o.tenant)}${o.disabled?", disabled":""}${c}`,u(d),m,`${u(o.entries)} of ${u(o.capacity)}`,`${u(f)} of ${u(f+h)}`,u(a(({evictions:i})=>i))]}),s=["Tenant","Look\
-ups","Found","Sessions held","Admitted","Made room"];return[n.length>0?y("Session cache of each tenant",s,n):l("p","There is no tenant: trefoil admin tenant cr\
eate makes one.","empty")]}function V({caches:t},e){return`${t.find(s=>s.tenant===e)?.name??""} (${e.slice(0,8)}\u2026)`}function It(t){let e=(t.key_holder?.budget_trips_by_tenant??
[]).map(({tenant:s,trips:o,recent:r})=>[V(t,s),u(r),u(o)]);return e.length>0?[y("Attempts refused because a budget was spent",["Tenant","In the last minutes","S\
ince its start"],e)]:[]}function Ot(t,e){let{key_holder:n,key_holders:s}=e,o=[];if(n===null)o.push(l("p","The key-holder has not said what it counts.","empty"));else{
let r=a=>a(n)-(t.key_holder===null?0:a(t.key_holder));o.push(it([["Attempts, lately",`${u(r(({attempts:a})=>a))}, of which ${u(r(({failures:a})=>a))} failed`],[
"Attempts since its start",`${u(n.attempts)}, of which ${u(n.failures)} failed`],["Refused since its start, budget spent",u(n.budget_trips)],["Enrolments since \
its start",u(n.enrolments)],["Malformed jobs",n.malformed===0?"none":u(n.malformed)],["Frozen tenants",n.frozen.length===0?"none":n.frozen.join(", ")],["Tenants\
 that it knows",u(n.tenants)],["Templates that it has keys of",u(n.templates)]]),...It(e))}if(s.length>0){let r=s.map(({seat:a,address:d,away:m,silent:f,disagreed:h,
lied:c,accused:p})=>[`${a}, ${d}`,m===null?"there":`away: ${m}`,...[f,h,c,p].map(u)]);o.push(y("The three key-holders",["Seat","State","Silent","Disagreed","Lie\
d","Accused"],r))}return o}function At(t){let{disk:e,queue:n,nonces:s,templates:o,proofs:r,seals:a,process:d}=t,m=[["TLS certificate",ot(t.certificate_until,t.now)],
["Signing keys",ot(t.signing_keys_until,t.now)],["Disk",`${G(e.free_bytes)} free; below ${G(e.low_water_bytes)} logins are refused`],...t.connections.map(({listener:f,
open:h,limit:c,refused:p})=>[`Connections, ${f}`,`${u(h)} of ${u(c)} open, ${u(p)} dropped`]),["Logins that wait for a batch",`${u(n.used)} of ${u(n.limit)}`],[
"Nonces of two minutes",`${u(s.used)} of ${u(s.limit)}`],["Requests of a tenant in flight",`at most ${u(t.in_flight_limit)}`],["Proofs",`${u(r.accepted)} accept\
ed, ${u(r.refused)} refused, ${u(r.waiting)} wait`],["Templates in memory",`${u(o.used)} of ${u(o.limit)}`],["A seal waits for the store",a.waits?"yes":"no"],["\
Log lines lost",u(t.log_lines_lost)],["Open files",d.open_files===null?"unknown":u(d.open_files)]];return[it(m)]}function ot(t,e){if(t===null)return"unknown";let n=new Date(
t*1e3).toISOString().slice(0,10);return t<=e?`ended on ${n}`:`until ${n}, in ${w(t-e)}`}function y(t,e,n){let s=l("table",""),o=l("thead",""),r=l("tr","");r.append(
...e.map(d=>O(l("th",d),{scope:"col"}))),o.append(r);let a=l("tbody","");for(let[d="",...m]of n){let f=l("tr","");f.append(O(l("th",d),{scope:"row"})),f.append(
...m.map((h,c)=>{let p=O(l("td",""),{"data-name":e[c+1]??""}),i=l("span","");return i.append(...z(h)),p.append(i),p})),a.append(f)}return s.append(l("caption",t),
o,a),s}function z(t){return t.split("`").map((e,n)=>n%2===1?l("code",e):e)}function it(t){let e=l("dl","");for(let[n,s]of t)e.append(l("dt",n),l("dd",s));return e}
function $(t,e){let n=document.createElement("div");n.append(...e),n.innerHTML!==t.innerHTML&&t.replaceChildren(...e)}function O(t,e){for(let[n,s]of Object.entries(
e))t.setAttribute(n,`${s}`);return t}function I(t,e){return O(document.createElementNS($t,t),e)}function l(t,e,n=""){let s=document.createElement(t);return s.textContent=
e,n!==""&&(s.className=n),s}function u(t){return Math.round(t).toLocaleString("en")}function v(t){if(t>0&&t<.05)return"< 0.1 /s";let e=t!==0&&t<10?1:0;return`${t.
toLocaleString("en",{minimumFractionDigits:e,maximumFractionDigits:e})} /s`}function L(t){return`${(100*t).toFixed(t>0&&t<.1?1:0)} %`}function Bt(t){return`${t.
toFixed(2)} cores`}function ut(t){return Number.isFinite(t)?t<.001?`${Math.round(t*1e6)} \xB5s`:t<.01?`${(t*1e3).toFixed(1)} ms`:t<1?`${Math.round(t*1e3)} ms`:`${t.
toFixed(1)} s`:"over the scale"}function dt(t){return t===void 0?"\u2013":ut(t)}function G(t){let e=["B","KiB","MiB","GiB","TiB"],n=t<1?0:Math.min(e.length-1,Math.
floor(Math.log2(t)/10));return`${(t/1024**n).toFixed(n===0?0:1)} ${e[n]}`}var Pt=2e3,ct=5e3,lt=new R,Y=b("enter",HTMLFormElement),U=b("token",HTMLInputElement),Z=b("refused",HTMLElement),A=b("figures",HTMLElement),mt=b("lost",HTMLElement),
ft=b("wants",HTMLElement),jt=b("lost-text",HTMLElement),K=b("pause",HTMLButtonElement),S="",H=!1,D=0;function b(t,e){let n=document.getElementById(t);if(!(n instanceof
e))throw new Error(`the page has no ${t}`);return n}async function Wt(){let t={authorization:`Bearer ${S}`};try{let e=AbortSignal.timeout(ct),n=await fetch("/v1\
/status",{headers:t,signal:e,credentials:"omit",cache:"no-store"});return n.status===401||n.status===403?{refused:"The service does not take this token. The adm\
in token is in the file admin.token of the data directory."}:n.ok?{status:await n.json()}:{silent:`it answered with status ${n.status}`}}catch(e){return{silent:e instanceof
DOMException&&e.name==="TimeoutError"?`no answer within ${ct/1e3} s`:"it cannot be reached"}}}function zt(t){if("refused"in t)return Vt(t.refused);if("silent"in
t)return Kt(t.silent);D=Date.now(),mt.hidden=!0,ft.hidden=!1,A.classList.remove("old"),lt.add(t.status),Y.hidden=!0,A.hidden=!1,rt(lt,n=>b(n,HTMLElement));let e=new Date(
D).toTimeString().slice(0,8);b("state",HTMLElement).textContent=t.status.ready?`Takes logins. Last answer at ${e}.`:`Takes no logins. Last answer at ${e}.`,document.
title=`${Gt(t.status)} \u2013 Trefoil`}function Gt({ready:t,attention:e}){return t?e.length===0?"All well":`${e.length} to look at`:"Takes no logins"}function Vt(t){
S="",Z.textContent=t,Y.hidden=!1,A.hidden=!0,U.focus()}function Kt(t){if(document.title="Does not answer \u2013 Trefoil",D===0){Z.textContent=`The service does \
not answer: ${t}. See whether it runs, then try again.`,S="";return}let[e,n]=[new Date(D).toTimeString().slice(0,8),w((Date.now()-D)/1e3)];jt.textContent=`Its l\
ast answer came at ${e}, ${n} ago; since then ${t}. Everything below is from then.`,mt.hidden=!1,ft.hidden=!0,b("state",HTMLElement).textContent="Not known: the\
 service does not answer.",A.classList.add("old")}async function ht(){S!==""&&!H&&zt(await Wt()),S!==""&&setTimeout(()=>{ht()},Pt)}Y.addEventListener("submit",t=>{
t.preventDefault();let e=U.value.trim();U.value="",Z.textContent=e===""?"Enter the admin token.":"",!(e===""||S!=="")&&(S=e,ht())});K.addEventListener("click",()=>{
H=!H,K.setAttribute("aria-pressed",`${H}`),K.textContent=H?"Go on":"Pause"});
