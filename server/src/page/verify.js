var Uc=Array.from({length:256},(e,t)=>t.toString(16).padStart(2,"0")),Rc="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";function Ct(e){return ArrayBuffer.
isView(e)&&Object.prototype.toString.call(e)==="[object Uint8Array]"}function Me(e,t){return e.length===t.length&&e.every((n,r)=>n===t[r])}function yt(e){return Array.
from(e,t=>Uc[t]).join("")}function xn(e){let t=new Uint8Array(Math.floor(e.length*3/4)),n=0,r=0,f=0;for(let o of e){let c=Rc.indexOf(o);if(c<0)return;f=f<<6|c,r+=
6,r>=8&&(r-=8,t[n++]=f>>r,f&=(1<<r)-1)}return r<6&&f===0?t:void 0}var Ye=class extends Error{name="DecodeError";offset;field;problem;explanation;constructor(t,n,r,f){super(`${n} at byte ${t}: ${f}`),this.offset=t,this.field=n,
this.problem=r,this.explanation=f}};var En=0,Yn=1,Gr=2,Yr=3,Xr=4,Jr=5,Ic=6,Zr=246,Fc=64,Nc=(1n<<63n)-1n,Mc=new TextDecoder("utf-8",{fatal:!0,ignoreBOM:!0}),Cc=new TextEncoder;function Yt(e){return Cc.
encode(e)}function An(e,t){let{length:n}=Yt(e);return n>=1&&n<=t&&!/[\p{Cc}\p{Cs}]/u.test(e)}var st=class{#t=[];#e(t,n){let r=[0x18n,0x100n,0x10000n,0x100000000n].
findIndex(o=>n<o);if(r===0){this.#t.push(t<<5|Number(n));return}let f=r<0?3:r-1;this.#t.push(t<<5|24+f);for(let o=8*(2**f-1);o>=0;o-=8)this.#t.push(Number(n>>BigInt(
o)&0xffn))}uint(t){return this.#e(En,t),this}int(t){return t<0?this.#e(Yn,BigInt(-1-t)):this.#e(En,BigInt(t)),this}bytes(t){this.#e(Gr,BigInt(t.length));for(let n of t)
this.#t.push(n);return this}text(t){let n=Yt(t);this.#e(Yr,BigInt(n.length));for(let r of n)this.#t.push(r);return this}array(t){return this.#e(Xr,BigInt(t)),this}map(t){
return this.#e(Jr,BigInt(t)),this}null(){return this.#t.push(Zr),this}finish(){return Uint8Array.from(this.#t)}},Pe=class e{#t;#e=0;constructor(t){this.#t=t}static of(t,n,r){
if(!Ct(n))throw new TypeError(`${t} must be a Uint8Array`);if(n.length>r)throw new e(new Uint8Array).wrongLength(t);return new e(new Uint8Array(n))}get offset(){
return this.#e}error(t,n,r,f=this.#e){return new Ye(f,t,n,r)}outOfRange(t,n=this.#e){return this.error(t,"out-of-range","the value is outside its limits",n)}wrongLength(t,n=this.#e){
return this.error(t,"wrong-length","the length is outside its limits",n)}finish(t){if(this.#e!==this.#t.length)throw this.error(t,"trailing-bytes","bytes follow\
 the end; pass exactly one object")}#n(t,n){if(n>this.#t.length-this.#e)throw this.error(t,"truncated","the input ends here; fetch the complete file again");return this.#e+=
n,this.#t.subarray(this.#e-n,this.#e)}#r(t,n,r){let f=this.#e,o=this.#n(t,1)[0]??0;if(o>>5!==n)throw this.error(t,"wrong-type",`${r} belongs here`,f);let c=o&31;
if(c<24)return BigInt(c);if(c>27)throw this.#f(t,f);let s=1<<c-24,i=0n;for(let E of this.#n(t,s))i=i<<8n|BigInt(E);let h=s===1?24n:1n<<BigInt(4*s);if(i<h)throw this.#f(
t,f);return i}#f(t,n){return this.error(t,"not-canonical","not deterministic CBOR (RFC 8949 4.2); pass the issuer's bytes unchanged",n)}uint(t){return this.#r(t,
En,"an unsigned integer")}number(t,n){let r=this.#e,f=this.uint(t);if(f>BigInt(n))throw this.outOfRange(t,r);return Number(f)}int(t){let n=this.#e,r=(this.#t[n]??
0)>>5===Yn,f=this.#r(t,r?Yn:En,"an integer");if(f>Nc)throw this.outOfRange(t,n);return r?-1n-f:f}key(t,n){let r=this.#e,f=this.int(t);if(f!==BigInt(n))throw this.
unexpectedKey(t,n,f,r);return this}unexpectedKey(t,n,r,f){return this.error(t,"unexpected-key",`map key ${n} belongs here, found ${r}`,f)}bytes(t,n,r=n){let f=this.#e,
o=this.#r(t,Gr,"a byte string");return this.#o(t,f,o,n,r).slice()}text(t,n){let r=this.#e,f=this.#r(t,Yr,"a text string"),o=this.#o(t,r,f,1,n);try{let c=Mc.decode(
o);if(!/\p{Cc}/u.test(c))return c}catch{}throw this.error(t,"invalid-text","text must be UTF-8 without control characters",r)}format(t,n){let r=this.#e;if(this.
text(t,Fc)!==n)throw this.error(t,"unknown-format",`this version reads ${n} only; update it`,r)}#o(t,n,r,f,o){if(r<BigInt(f)||r>BigInt(o))throw this.wrongLength(
t,n);return this.#n(t,Number(r))}array(t,n,r=n){let f=this.#e,o=this.#r(t,Xr,"an array");if(o<BigInt(n)||o>BigInt(r))throw this.wrongLength(t,f);return Number(o)}map(t,n,r=n){
let f=this.#e,o=this.#r(t,Jr,"a map");if(o<BigInt(n)||o>BigInt(r))throw this.wrongLength(t,f);return Number(o)}tag(t,n){let r=this.#e;if(this.#r(t,Ic,"a tag")!==
BigInt(n))throw this.outOfRange(t,r)}null(t){if(!this.isNull())throw this.error(t,"wrong-type","null belongs here");this.#n(t,1)}isNull(){return this.#t[this.#e]===
Zr}};var Tn=BigInt(4294967295),Qr=BigInt(32);function Hc(e,t=!1){return t?{h:Number(e&Tn),l:Number(e>>Qr&Tn)}:{h:Number(e>>Qr&Tn)|0,l:Number(e&Tn)|0}}function ef(e,t=!1){
let n=e.length,r=new Uint32Array(n),f=new Uint32Array(n);for(let o=0;o<n;o++){let{h:c,l:s}=Hc(e[o],t);[r[o],f[o]]=[c,s]}return[r,f]}var jc=e=>e/2**32|0,Pc=e=>e>>>0;function tf(e,t,n,r){let f=jc(n),o=Pc(n);e.setUint32(t,r?o:f,r),e.setUint32(t+4,r?f:o,r)}function Xt(e){return e instanceof Uint8Array||ArrayBuffer.isView(e)&&e.constructor.name==="Uint8Array"&&"BYTES_PER_ELEMENT"in e&&e.BYTES_PER_ELEMENT===1}var _n=e=>e?
`"${e}" `:"";function Re(e,t=""){if(typeof e!="number")throw new TypeError(_n(t)+"expected number, got "+typeof e);if(!Number.isSafeInteger(e)||e<0)throw new RangeError(
_n(t)+"expected integer >= 0, got "+e);return e}function ff(e,t=""){if(typeof e!="boolean")throw new TypeError(_n(t)+"expected boolean, got type="+typeof e);return e}
function z(e,t,n=""){if(Xt(e)&&(t===void 0||e.length===t))return e;t!==void 0&&Re(t,"length");let r=Xt(e),f=t!==void 0?` of length ${t}`:"",o=r?`length=${e.length}`:
`type=${typeof e}`,c=_n(n)+"expected Uint8Array"+f+", got "+o;throw r?new RangeError(c):new TypeError(c)}function Sn(e){if(typeof e!="function"||typeof e.create!="function")throw new TypeError("expected hash wrapped by utils.createHasher");if(Re(e.outputLen),Re(e.blockLen),
e.outputLen<1||e.blockLen<1)throw new Error("hash blockLen / outputLen must be >= 1")}var Dc=(e,t)=>{if(e===null||typeof e!="object"||Array.isArray(e))throw new TypeError(
(t==="object"?"":`"${t}" `)+"expected object, got type="+typeof e)},nf=(e,t)=>{Dc(e,t);let n=Object.getPrototypeOf(e);if(n!==Object.prototype&&n!==null)throw new TypeError(
`"${t}" expected plain object`);if(Object.hasOwn(e,"__proto__"))throw new TypeError(`"${t}.__proto__" is not allowed`)};function at(e,t=!0){if(e.destroyed)throw new Error(
"hash was destroyed");if(t&&e.finished)throw new Error("digest() was already called")}function Ht(e,t){z(e,void 0,"output");let n=t.outputLen;if(!(e.length>=n))
throw new RangeError('"output" expected length >= '+n)}function of(e){return new Uint8Array(e.buffer,e.byteOffset,e.byteLength)}function Lt(e){return new Uint32Array(
e.buffer,e.byteOffset,Math.floor(e.byteLength/4))}function pt(...e){for(let t=0;t<e.length;t++)e[t].fill(0)}function it(e){return new DataView(e.buffer,e.byteOffset,
e.byteLength)}function Xe(e,t){return e<<32-t|e>>>t}var Xn=new Uint8Array(new Uint32Array([287454020]).buffer)[0]===68;function Kc(e){return e<<24&4278190080|e<<8&16711680|e>>>8&65280|e>>>24&255}function $c(e){for(let t=0;t<e.length;t++)e[t]=Kc(e[t]);return e}var et=Xn?e=>e:$c,cf=typeof Uint8Array.from([]).toHex=="function"&&typeof Uint8Array.fromHex=="\
function",zc=Array.from({length:256},(e,t)=>t.toString(16).padStart(2,"0"));function gt(e){if(z(e),cf)return e.toHex();let t="";for(let n=0;n<e.length;n++)t+=zc[e[n]];
return t}function rf(e){return e>=48&&e<=57?e-48:e>=65&&e<=70?e-55:e>=97&&e<=102?e-87:void 0}function Jt(e){if(typeof e!="string")throw new TypeError("hex strin\
g expected, got "+typeof e);if(cf)try{return Uint8Array.fromHex(e)}catch(f){throw f instanceof SyntaxError?new RangeError(f.message):f}let t=e.length,n=t/2;if(t%
2)throw new RangeError("hex string expected, got unpadded hex of length "+t);let r=new Uint8Array(n);for(let f=0,o=0;f<n;f++,o+=2){let c=rf(e.charCodeAt(o)),s=rf(
e.charCodeAt(o+1));if(c===void 0||s===void 0){let i=e[o]+e[o+1];throw new RangeError('hex string expected, got non-hex character "'+i+'" at index '+o)}r[f]=c*16+
s}return r}function mt(...e){let t=0;for(let r=0;r<e.length;r++){let f=e[r];z(f),t+=f.length}let n=new Uint8Array(t);for(let r=0,f=0;r<e.length;r++){let o=e[r];n.set(o,f),
f+=o.length}return n}function Jn(e,t,n="opts"){return nf(e,"defaults"),t!==void 0&&nf(t,n),Object.assign(Object.create(null),e,t)}function Zt(e,t={}){if(typeof e!="function")throw new TypeError(
'"hashCons" expected function, got type='+typeof e);t=Jn({},t,"info");let n=(f,o)=>e(o).update(f).digest(),r=e(void 0);return n.outputLen=r.outputLen,n.blockLen=
r.blockLen,n.canXOF=r.canXOF,n.create=f=>e(f),Object.assign(n,t),Object.freeze(n)}function vt(e=32){Re(e,"bytesLength");let t=typeof globalThis=="object"?globalThis.
crypto:null;if(typeof t?.getRandomValues!="function")throw new Error("crypto.getRandomValues must be defined");if(e>65536)throw new RangeError(`"bytesLength" ex\
pected <= 65536, got ${e}`);return t.getRandomValues(new Uint8Array(e))}var jt=e=>({oid:Uint8Array.from([6,9,96,134,72,1,101,3,4,2,e])});var qc=BigInt(0),Qt=BigInt(1),Vc=BigInt(2),Wc=BigInt(7),Gc=BigInt(256),Yc=BigInt(113),df=[],bf=[],uf=[];for(let e=0,t=Qt,n=1,r=0;e<24;e++){[n,r]=[r,(2*n+3*r)%5],
df.push(2*(5*r+n)),bf.push((e+1)*(e+2)/2%64);let f=qc;for(let o=0;o<7;o++)t=(t<<Qt^(t>>Wc)*Yc)%Gc,t&Vc&&(f^=Qt<<(Qt<<BigInt(o))-Qt);uf.push(f)}var lf=ef(uf,!0),
Xc=lf[0],Jc=lf[1],Zc=(e,t,n)=>e<<n|t>>>32-n,Qc=(e,t,n)=>t<<n|e>>>32-n,es=(e,t,n)=>t<<n-32|e>>>64-n,ts=(e,t,n)=>e<<n-32|t>>>64-n,sf=(e,t,n)=>n>32?es(e,t,n):Zc(e,
t,n),af=(e,t,n)=>n>32?ts(e,t,n):Qc(e,t,n),Pt=new Uint32Array(10);function ns(e,t=24){if(!(e instanceof Uint32Array))throw new TypeError('"s" expected Uint32Arra\
y(50), got type='+typeof e);if(e.length!==50)throw new RangeError('"s" expected Uint32Array(50), got length='+e.length);if(Re(t,"rounds"),t<1||t>24)throw new Error(
'"rounds" expected integer 1..24');for(let n=24-t;n<24;n++){for(let o=0;o<10;o++)Pt[o]=e[o]^e[o+10]^e[o+20]^e[o+30]^e[o+40];for(let o=0;o<10;o+=2){let c=(o+8)%10,
s=(o+2)%10,i=Pt[s],h=Pt[s+1],E=sf(i,h,1)^Pt[c],g=af(i,h,1)^Pt[c+1];for(let A=0;A<50;A+=10)e[o+A]^=E,e[o+A+1]^=g}let r=e[2],f=e[3];for(let o=0;o<24;o++){let c=bf[o],
s=sf(r,f,c),i=af(r,f,c),h=df[o];r=e[h],f=e[h+1],e[h]=s,e[h+1]=i}for(let o=0;o<50;o+=10){let c=e[o],s=e[o+1],i=e[o+2],h=e[o+3];e[o]^=~e[o+2]&e[o+4],e[o+1]^=~e[o+
3]&e[o+5],e[o+2]^=~e[o+4]&e[o+6],e[o+3]^=~e[o+5]&e[o+7],e[o+4]^=~e[o+6]&e[o+8],e[o+5]^=~e[o+7]&e[o+9],e[o+6]^=~e[o+8]&c,e[o+7]^=~e[o+9]&s,e[o+8]^=~c&i,e[o+9]^=~s&
h}e[0]^=Xc[n],e[1]^=Jc[n]}pt(Pt)}var kn=class e{state;pos=0;posOut=0;finished=!1;state32;destroyed=!1;blockLen;suffix;outputLen;canXOF;enableXOF=!1;rounds;constructor(t,n,r,f=!1,o=24){
if(Re(t,"blockLen"),Re(n,"suffix"),Re(o,"rounds"),ff(f,"enableXOF"),this.blockLen=t,this.suffix=n,this.outputLen=r,this.enableXOF=f,this.canXOF=f,this.rounds=o,
Re(r,"outputLen"),!(0<t&&t<200))throw new Error('"blockLen" must be 1..199');this.state=new Uint8Array(200),this.state32=Lt(this.state)}clone(){return this._cloneInto()}keccak(){
et(this.state32),ns(this.state32,this.rounds),et(this.state32),this.posOut=0,this.pos=0}update(t){at(this),z(t);let{blockLen:n,state:r,state32:f}=this,o=t.length,
c=n%4===0&&t.byteOffset%4===0,s=n/4,i=c&&o>=n?Lt(t):void 0;for(let h=0;h<o;){if(i!==void 0&&this.pos===0&&h%4===0&&o-h>=n){for(let g=0,A=h/4;g<s;g++)f[g]^=i[A+g];
h+=n,this.pos=n,this.keccak();continue}let E=Math.min(n-this.pos,o-h);for(let g=0;g<E;g++)r[this.pos++]^=t[h++];this.pos===n&&this.keccak()}return this}finish(){
if(this.finished)return;this.finished=!0;let{state:t,suffix:n,pos:r,blockLen:f}=this;t[r]^=n,(n&128)!==0&&r===f-1&&this.keccak(),t[f-1]^=128,this.keccak()}writeInto(t){
at(this,!1),z(t),this.finish();let n=this.state,{blockLen:r}=this;for(let f=0,o=t.length;f<o;){this.posOut>=r&&this.keccak();let c=Math.min(r-this.posOut,o-f);t.
set(n.subarray(this.posOut,this.posOut+c),f),this.posOut+=c,f+=c}return t}xofInto(t){if(!this.enableXOF)throw new Error("XOF is not enabled");return this.writeInto(
t)}xof(t){return Re(t),this.xofInto(new Uint8Array(t))}digestInto(t){if(Ht(t,this),this.finished)throw new Error("digest() was already called");this.writeInto(t.
length===this.outputLen?t:t.subarray(0,this.outputLen)),this.destroy()}digest(){let t=new Uint8Array(this.outputLen);return this.digestInto(t),t}destroy(){this.
destroyed=!0,pt(this.state)}_cloneInto(t){let{blockLen:n,suffix:r,outputLen:f,rounds:o,enableXOF:c}=this;return t||=new e(n,r,f,c,o),t.blockLen=n,t.state32.set(
this.state32),t.pos=this.pos,t.posOut=this.posOut,t.finished=this.finished,t.rounds=o,t.suffix=r,t.outputLen=f,t.enableXOF=c,t.canXOF=this.canXOF,t.destroyed=this.
destroyed,t}},rs=(e,t,n,r={})=>Zt(()=>new kn(t,e,n),r);var Bt=rs(6,136,32,jt(8));var hf=(e,t,n,r={})=>Zt((f={})=>(f=Jn({},f),new kn(t,e,f.dkLen===void 0?n:f.dkLen,!0)),r),yf=hf(31,168,16,jt(11)),Le=hf(31,136,32,jt(12));/*! noble-ciphers - MIT License (c) 2023 Paul Miller (paulmillr.com) */function Zn(e){return e instanceof Uint8Array||ArrayBuffer.isView(e)&&e.constructor.name==="Uint8Array"&&"BYTES_PER_ELEMENT"in e&&e.BYTES_PER_ELEMENT===1}var On=e=>e?
`"${e}" `:"";function Qn(e,t=""){if(typeof e!="boolean")throw new TypeError(On(t)+"expected boolean, got type="+typeof e);return e}function Ut(e,t=""){if(typeof e!=
"number")throw new TypeError(On(t)+"expected number, got "+typeof e);if(!Number.isSafeInteger(e)||e<0)throw new RangeError(On(t)+"expected integer >= 0, got "+e);
return e}function he(e,t,n=""){if(Zn(e)&&(t===void 0||e.length===t))return e;t!==void 0&&Ut(t,"length");let r=Zn(e),f=t!==void 0?` of length ${t}`:"",o=r?`lengt\
h=${e.length}`:`type=${typeof e}`,c=On(n)+"expected Uint8Array"+f+", got "+o;throw r?new RangeError(c):new TypeError(c)}var pf=(e,t)=>{if(e===null||typeof e!="o\
bject"||Array.isArray(e))throw new TypeError(t==="object"?"expected valid options object":`"${t}" expected object, got type=${typeof e}`)};function gf(e){return new Uint8Array(e.buffer,e.byteOffset,e.byteLength)}function Ce(e){return new Uint32Array(e.buffer,e.byteOffset,Math.floor(e.byteLength/4))}
function wt(...e){for(let t=0;t<e.length;t++)e[t].fill(0)}var tt=new Uint8Array(new Uint32Array([287454020]).buffer)[0]===68;function er(e){return e<<24&4278190080|e<<8&16711680|e>>>8&65280|e>>>24&255}var De=tt?e=>e:e=>er(
e)>>>0;function fs(e){for(let t=0;t<e.length;t++)e[t]=er(e[t]);return e}var Je=tt?e=>e:fs;function mf(e,t){return!e.byteLength||!t.byteLength?!1:e.buffer===t.buffer&&e.byteOffset<t.byteOffset+t.byteLength&&t.byteOffset<e.byteOffset+e.byteLength}function Ln(e,t){
if(mf(e,t)&&e.byteOffset<t.byteOffset)throw new Error("complex overlap of input and output is not supported")}function wf(e,t){return pf(e,"defaults"),pf(t,"opts"),Object.assign(e,t)}var xf=(e,t)=>{function n(r,...f){if(he(r,void 0,"key"),e.nonceLength!==void 0){let g=f[0];he(g,e.varSizeNonce?void 0:e.nonceLength,"nonce")}let o=e.tagLength,c=e.
nonceLength!==void 0?1:0;if(!e.withAAD){for(let g=c;g<f.length;g++)if(Zn(f[g]))throw new Error("AAD not supported")}e.withAAD&&f[c]!==void 0&&he(f[c],void 0,"AA\
D");let s=t(r,...f),i=(g,A)=>{if(A!==void 0){if(g!==2)throw new Error("cipher output not supported");he(A,void 0,"output")}},h=!1;return{encrypt(g,A){if(h)throw new Error(
"cannot encrypt() twice with same key + nonce");return h=!0,he(g,void 0,"data"),i(s.encrypt.length,A),s.encrypt(g,A)},decrypt(g,A){if(he(g,void 0,"data"),o&&g.length<
o)throw new Error('"ciphertext" expected length >= tagLength='+o);return i(s.decrypt.length,A),s.decrypt(g,A)}}}return Object.assign(n,e),n};function vn(e,t,n=!0){
if(t===void 0)return new Uint8Array(e);if(he(t,e,"output"),n&&!dt(t))throw new Error("invalid output, must be aligned");return t}function dt(e){return e.byteOffset%4===0}function Rt(e){return Uint8Array.from(he(e))}var tr=16,os=4;var cs=283;function ss(e){if(![16,24,32].includes(e.length))throw new Error('"aes key" expected Uint8Array of length 16/24/32, got length='+e.length)}function cr(e){
return e<<1^cs&-(e>>7)}function Ef(e,t){let n=0;for(;t>0;t>>=1)n^=e&-(t&1),e=cr(e);return n}var nr=(e,t,n=1)=>{if(!Number.isSafeInteger(n)||n<0||n>4294967040)throw new Error(
"incBytes: wrong carry "+n);he(e);for(let r=0;r<e.length;r++){let f=t?r:e.length-1-r;n=n+(e[f]&255)|0,e[f]=n&255,n>>>=8}},as=(()=>{let e=new Uint8Array(256);for(let n=0,
r=1;n<256;n++,r^=cr(r))e[n]=r;let t=new Uint8Array(256);t[0]=99;for(let n=0;n<255;n++){let r=e[255-n];r|=r<<8,t[e[n]]=(r^r>>4^r>>5^r>>6^r>>7^99)&255}return wt(e),
t})();var is=e=>e<<24|e>>>8,rr=e=>e<<8|e>>>24;function ds(e,t){if(e.length!==256)throw new Error("wrong sbox length");let n=new Uint32Array(256).map((h,E)=>t(e[E])),r=n.
map(rr),f=r.map(rr),o=f.map(rr),c=new Uint32Array(256*256),s=new Uint32Array(256*256),i=new Uint16Array(256*256);for(let h=0;h<256;h++)for(let E=0;E<256;E++){let g=h*
256+E;c[g]=n[h]^r[E],s[g]=f[h]^o[E],i[g]=e[h]<<8|e[E]}return{sbox:e,sbox2:i,T0:n,T1:r,T2:f,T3:o,T01:c,T23:s}}var Tf=ds(as,e=>Ef(e,3)<<24|e<<16|e<<8|Ef(e,2));var bs=(()=>{let e=new Uint8Array(16);for(let t=0,n=1;t<16;t++,n=cr(n))e[t]=n;return e})();function us(e){he(e);let t=e.length;ss(e);let{sbox2:n}=Tf,r=[];(!tt||
!dt(e))&&r.push(e=Rt(e));let f=Je(Ce(e)),o=f.length,c=i=>en(n,i,i,i,i),s=new Uint32Array(t+28);s.set(f);for(let i=o;i<s.length;i++){let h=s[i-1];i%o===0?h=c(is(
h))^bs[i/o-1]:o>6&&i%o===4&&(h=c(h)),s[i]=s[i-o]^h}return wt(...r),s}function Bn(e,t,n,r,f,o){return e[n<<8&65280|r>>>8&255]^t[f>>>8&65280|o>>>24&255]}function en(e,t,n,r,f){return e[t&255|n&65280]|e[r>>>16&255|f>>>16&65280]<<16}
function Af(e,t,n,r,f){let{sbox2:o,T01:c,T23:s}=Tf,i=0;t^=e[i++],n^=e[i++],r^=e[i++],f^=e[i++];let h=e.length/4-2;for(let S=0;S<h;S++){let U=e[i++]^Bn(c,s,t,n,r,
f),F=e[i++]^Bn(c,s,n,r,f,t),j=e[i++]^Bn(c,s,r,f,t,n),J=e[i++]^Bn(c,s,f,t,n,r);t=U,n=F,r=j,f=J}let E=e[i++]^en(o,t,n,r,f),g=e[i++]^en(o,n,r,f,t),A=e[i++]^en(o,r,
f,t,n),_=e[i++]^en(o,f,t,n,r);return{s0:E,s1:g,s2:A,s3:_}}function ls(e,t,n,r){he(t,tr,"nonce"),he(n);let f=n.length;r=vn(f,r),Ln(n,r);let o=t,c=Ce(o),s=Ce(n),i=Ce(r);for(let E=0;E+4<=s.length;E+=4){let{s0:g,s1:A,s2:_,
s3:S}=Af(e,De(c[0]),De(c[1]),De(c[2]),De(c[3]));i[E+0]=s[E+0]^De(g),i[E+1]=s[E+1]^De(A),i[E+2]=s[E+2]^De(_),i[E+3]=s[E+3]^De(S);for(let U=tr-1,F=1;U>=0;U--)F=F+
o[U]|0,o[U]=F&255,F>>>=8}let h=tr*Math.floor(s.length/os);if(h<f){let{s0:E,s1:g,s2:A,s3:_}=Af(e,De(c[0]),De(c[1]),De(c[2]),De(c[3])),S=new Uint32Array([E,g,A,_]);
Je(S);let U=gf(S);for(let F=h,j=0;F<f;F++,j++)r[F]=n[F]^U[j];wt(S)}return r}var fr=xf({blockSize:16,nonceLength:16},function(t,n){function r(f,o){if(he(f),o!==void 0&&(he(o),!dt(o)))throw new Error("unaligned destination");let c=us(t),s=Rt(
n),i=[c,s];dt(f)||i.push(f=Rt(f));let h=ls(c,s,f,o);return wt(...i),h}return{encrypt:(f,o)=>r(f,o),decrypt:(f,o)=>r(f,o)}});var or=class{blockLen;key;nonce;state;reseedCnt;destroyed=!1;constructor(t,n,r){this.blockLen=fr.blockSize;let f=t/8,o=16;this.state=new Uint8Array(f+o),this.key=
this.state.subarray(0,f),this.nonce=this.state.subarray(f,f+o),this.reseedCnt=1,nr(this.nonce,!1,1),this.addEntropy(n,r)}update(t){if(fr(this.key,this.nonce).encrypt(
new Uint8Array(this.state.length),this.state),t){he(t);for(let n=0;n<t.length;n++)this.state[n]^=t[n]}nr(this.nonce,!1,1)}addEntropy(t,n){if(this.destroyed)throw new Error(
"cannot use destroyed DRBG");he(t,this.state.length,"seed");let r=t.slice();if(n){if(he(n),n.length>r.length)throw new Error("info length is too big");for(let f=0;f<
n.length;f++)r[f]^=n[f]}this.update(r),r.fill(0),this.reseedCnt=1}randomBytes(t,n){if(this.destroyed)throw new Error("cannot use destroyed DRBG");if(Ut(t),t>2**
16)throw new Error("requested output is too big");if(this.reseedCnt>2**48)throw new Error("entropy exhausted");if(n){if(he(n),n.length>this.state.length)throw new Error(
"info length is too big");this.update(n)}let r=new Uint8Array(t);return fr(this.key,this.nonce).encrypt(r,r),nr(this.nonce,!1,Math.ceil(t/this.blockLen)),this.update(
n),this.reseedCnt++,r}clean(){this.state.fill(0),this.reseedCnt=0,this.destroyed=!0}},hs=e=>(t,n=void 0)=>new or(e,t,n);var _f=hs(256);var kf=e=>Uint8Array.from(e.split(""),t=>t.charCodeAt(0)),ys=Je(Ce(kf("expand 16-byte k"))),ps=Je(Ce(kf("expand 32-byte k")));function ne(e,t){return e<<t|e>>>32-
t}var tn=64,gs=16,sr=2**32-1,Sf=Uint32Array.of();function ms(e,t,n,r,f,o,c,s){let i=f.length,h=new Uint8Array(tn),E=Ce(h),g=tt&&dt(f)&&dt(o),A=g?Ce(f):Sf,_=g?Ce(
o):Sf;if(!tt){for(let S=0;S<i;c++){if(e(t,n,r,E,c,s),Je(E),c>=sr)throw new Error("arx: counter overflow");let U=Math.min(tn,i-S);for(let F=0,j;F<U;F++)j=S+F,o[j]=
f[j]^h[F];S+=U}return}for(let S=0;S<i;c++){if(e(t,n,r,E,c,s),c>=sr)throw new Error("arx: counter overflow");let U=Math.min(tn,i-S);if(g&&U===tn){let F=S/4;if(S%
4!==0)throw new Error("arx: invalid block position");for(let j=0,J;j<gs;j++)J=F+j,_[J]=A[J]^E[j];S+=tn;continue}for(let F=0,j;F<U;F++)j=S+F,o[j]=f[j]^h[F];S+=U}}
function Of(e,t){let{allowShortKeys:n,extendNonceFn:r,counterLength:f,counterRight:o,rounds:c}=wf({allowShortKeys:!1,counterLength:8,counterRight:!1,rounds:20},
t);if(typeof e!="function")throw new Error("core must be a function");return Ut(f),Ut(c),Qn(o),Qn(n),(s,i,h,E,g=0)=>{he(s,void 0,"key"),he(i,void 0,"nonce"),he(
h,void 0,"data");let A=h.length,_=E!==void 0;if(E=vn(A,E,!1),_&&Ln(h,E),Ut(g),g<0||g>=sr)throw new Error("arx: counter overflow");let S=[],U=s.length,F,j;if(U===
32)S.push(F=Rt(s)),j=ps;else if(U===16&&n)F=new Uint8Array(32),F.set(s),F.set(s,16),j=ys,S.push(F);else throw he(s,32,"arx key"),new Error("invalid key size");(!tt||
!dt(i))&&S.push(i=Rt(i));let J=Ce(F);if(r){if(i.length!==24)throw new Error("arx: extended nonce must be 24 bytes");let C=i.subarray(0,16);if(tt)r(j,J,Ce(C),J);else{
let P=Je(Uint32Array.from(j));r(P,J,Ce(C),J),wt(P),Je(J)}i=i.subarray(16)}else tt||Je(J);let R=16-f;if(R!==i.length)throw new Error(`arx: nonce must be ${R} or \
16 bytes`);if(R!==12){let C=new Uint8Array(12);C.set(i,o?0:12-i.length),i=C,S.push(i)}let M=Je(Ce(i));try{return ms(e,j,J,M,h,E,g,c),E}finally{wt(...S)}}}function ws(e,t,n,r,f,o=20){let c=e[0],s=e[1],i=e[2],h=e[3],E=t[0],g=t[1],A=t[2],_=t[3],S=t[4],U=t[5],F=t[6],j=t[7],J=f,R=n[0],M=n[1],C=n[2],P=c,H=s,$=i,L=h,q=E,
Y=g,re=A,be=_,me=S,pe=U,ue=F,we=j,Se=J,xe=R,Ee=M,Ae=C;for(let je=0;je<o;je+=2)P=P+q|0,Se=ne(Se^P,16),me=me+Se|0,q=ne(q^me,12),P=P+q|0,Se=ne(Se^P,8),me=me+Se|0,q=
ne(q^me,7),H=H+Y|0,xe=ne(xe^H,16),pe=pe+xe|0,Y=ne(Y^pe,12),H=H+Y|0,xe=ne(xe^H,8),pe=pe+xe|0,Y=ne(Y^pe,7),$=$+re|0,Ee=ne(Ee^$,16),ue=ue+Ee|0,re=ne(re^ue,12),$=$+
re|0,Ee=ne(Ee^$,8),ue=ue+Ee|0,re=ne(re^ue,7),L=L+be|0,Ae=ne(Ae^L,16),we=we+Ae|0,be=ne(be^we,12),L=L+be|0,Ae=ne(Ae^L,8),we=we+Ae|0,be=ne(be^we,7),P=P+Y|0,Ae=ne(Ae^
P,16),ue=ue+Ae|0,Y=ne(Y^ue,12),P=P+Y|0,Ae=ne(Ae^P,8),ue=ue+Ae|0,Y=ne(Y^ue,7),H=H+re|0,Se=ne(Se^H,16),we=we+Se|0,re=ne(re^we,12),H=H+re|0,Se=ne(Se^H,8),we=we+Se|
0,re=ne(re^we,7),$=$+be|0,xe=ne(xe^$,16),me=me+xe|0,be=ne(be^me,12),$=$+be|0,xe=ne(xe^$,8),me=me+xe|0,be=ne(be^me,7),L=L+q|0,Ee=ne(Ee^L,16),pe=pe+Ee|0,q=ne(q^pe,
12),L=L+q|0,Ee=ne(Ee^L,8),pe=pe+Ee|0,q=ne(q^pe,7);let se=0;r[se++]=c+P|0,r[se++]=s+H|0,r[se++]=i+$|0,r[se++]=h+L|0,r[se++]=E+q|0,r[se++]=g+Y|0,r[se++]=A+re|0,r[se++]=
_+be|0,r[se++]=S+me|0,r[se++]=U+pe|0,r[se++]=F+ue|0,r[se++]=j+we|0,r[se++]=J+Se|0,r[se++]=R+xe|0,r[se++]=M+Ee|0,r[se++]=C+Ae|0}var Lf=Of(ws,{counterRight:!1,counterLength:4,allowShortKeys:!1});/*! noble-curves - MIT License (c) 2022 Paul Miller (paulmillr.com) */var xs=(e,t,n)=>z(e,t,n),Es=Re;function ar(e,t="object"){if(e===null||typeof e!="object"||Array.isArray(e))throw new TypeError(t==="object"?"expected valid options object":`"${t}" expected ob\
ject, got type=${typeof e}`);return e}var vf=BigInt(0);var As=e=>e?`"${e}" `:"";function Bf(e,t=""){if(typeof e!="boolean")throw new TypeError(As(t)+"expected boolean, got type="+typeof e);return e}function Uf(e){if(typeof e==
"bigint"){if(!_s(e))throw new RangeError("positive bigint expected, got "+e)}else Es(e);return e}function Rf(e){let t=Uf(e).toString(16);return t.length&1?"0"+t:t}function If(e){if(typeof e!="string")throw new TypeError("hex string expected, got "+typeof e);
return e===""?vf:BigInt("0x"+e)}function ir(e){return If(gt(e))}function Ff(e){return If(gt(Ts(z(e)).reverse()))}function Nf(e,t){if(Re(t),t===0)throw new Error(
"zero output length is invalid");e=Uf(e);let n=t*2,r=e.toString(16);if(r.length>n)throw new RangeError("number is too large");return Jt(r.padStart(n,"0"))}function Ts(e){return Uint8Array.from(xs(e))}function _s(e){return typeof e=="bigint"&&vf<=e}function Mf(e,t={},n={},r="object"){ar(e,r),ar(t,"fields"),ar(n,"optFields");function f(c,s,i){let h=r==="object"?`param "${String(c)}"`:`"${r}.${String(c)}"`,E=e[c];
if(!Object.hasOwn(e,c)&&(i?E!==void 0:s!=="function"))throw new TypeError(`${h} is invalid: expected own property`);if(i&&E===void 0)return;let g=typeof E;if(g!==
s||E===null)throw new TypeError(`${h} is invalid: expected ${s}, got ${g}`)}let o=(c,s)=>Object.entries(c).forEach(([i,h])=>f(i,h,s));o(t,!1),o(n,!0)}/*! noble-curves - MIT License (c) 2022 Paul Miller (paulmillr.com) */var nn=BigInt(0),dr=BigInt(1);function Cf(e,t){if(t<=nn)throw new Error("mod: expected positive modulus, got "+t);let n=e%t;return n>=nn?n:t+n}function br(e,t){if(e===nn)throw new Error("invert: expected non-zero number");if(t<=dr)throw new Error("invert: expected modulus > 1, got "+t);let n=Cf(e,t),r=t,
f=nn,o=dr;for(;n!==nn;){let s=r/n,i=r-n*s,h=f-o*s;r=n,n=i,f=o,o=h}if(r!==dr)throw new Error("invert: does not exist");return Cf(f,t)}function rn(e,t="n"){if(typeof e!="number")throw new TypeError(`wrong u32 integer "${t}": expected number, got type=${typeof e}`);if(!Number.isSafeInteger(e)||e<
0||e>4294967295)throw new RangeError(`wrong u32 integer "${t}": expected 0..4294967295, got ${e}`);return e}function jf(e){return rn(e,"x"),(e&e-1)===0&&e!==0}function ur(e,t){if(rn(e),typeof t!="number")throw new TypeError('"bits" expected number, got type='+typeof t);if(!Number.isSafeInteger(t)||t<0||t>32)throw new Error(
`expected integer 0 <= bits <= 32, got ${t}`);let n=0;for(let r=0;r<t;r++,e>>>=1)n=n<<1|e&1;return n>>>0}function Pf(e){return rn(e),31-Math.clz32(e)}function Hf(e){
if(!e||typeof e!="object"||typeof e.length!="number")throw new TypeError('"values" expected array-like, got type='+typeof e);let t=e.length;if(!jf(t))throw new Error(
"expected positive power-of-two length, got "+t);let n=Pf(t);for(let r=0;r<t;r++){let f=ur(r,n);if(r<f){let o=e[r];e[r]=e[f],e[f]=o}}return e}var Dt=(e,t)=>{Mf(t,{N:"number",roots:"object",dit:"boolean"},{invertButterflies:"boolean",skipStages:"number",brp:"boolean"},"coreOpts");let{N:n,roots:r,dit:f,
invertButterflies:o=!1,skipStages:c=0,brp:s=!0}=t;rn(n,"coreOpts.N");let i=Pf(n);if(!jf(n))throw new Error("FFT: Polynomial size should be power of two");rn(c,"\
coreOpts.skipStages");let h=i===0?0:i-1;if(c>h)throw new Error(`FFT: wrong skipStages: expected 0 <= skipStages <= ${h}`);if(r.length!==n)throw new Error(`FFT: \
wrong roots length: expected ${n}, got ${r.length}`);let E=f!==o;return g=>{if(g.length!==n)throw new Error("FFT: wrong Polynomial length");f&&s&&Hf(g);for(let A=0,
_=1;A<i-c;A++){let S=f?A+1+c:i-A,U=1<<S,F=U>>1,j=n>>S;for(let J=0;J<n;J+=U)for(let R=0,M=_++;R<F;R++){let C=o?f?n-M:M:R*j,P=J+R,H=J+R+F,$=r[C],L=g[H],q=g[P];if(E){
let Y=e.mul(L,$);g[P]=e.add(q,Y),g[H]=e.sub(q,Y)}else o?(g[P]=e.add(L,q),g[H]=e.mul(e.sub(L,q),$)):(g[P]=e.add(q,L),g[H]=e.mul(e.sub(q,L),$))}}return!f&&s&&Hf(g),
g}};/*! noble-post-quantum - MIT License (c) 2024 Paul Miller (paulmillr.com) */var ze=z;var Kt=vt;function Ss(e,t,n=()=>{}){if(!Array.isArray(e))throw new TypeError(`"${t}" expected array, got type=${typeof e}`);for(let r=0;r<e.length;r++)n(e[r],`${t}\
[${r}]`);return e}function ks(e,t="object"){if(e===null||typeof e!="object"||Array.isArray(e))throw new TypeError(t==="object"?"expected valid options object":`\
"${t}" expected object, got type=${typeof e}`);return e}function fn(e,t){if(e=z(e),t=z(t),e.length!==t.length)return!1;let n=0;for(let r=0;r<e.length;r++)n|=e[r]^
t[r];return n===0}function Ke(e){return new Uint8Array(z(e))}function Os(e){let t=new Uint8Array(e.buffer,e.byteOffset,e.byteLength);for(let n=0;n<t.length;n+=8){
let r=t[n+0],f=t[n+1],o=t[n+2],c=t[n+3];t[n+0]=t[n+7],t[n+1]=t[n+6],t[n+2]=t[n+5],t[n+3]=t[n+4],t[n+4]=c,t[n+5]=o,t[n+6]=f,t[n+7]=r}return e}var lr=Xn?e=>e:Os;function Ls(e){
if(Xt(e))throw new TypeError('"opts" expected object, got Uint8Array');ks(e,"opts");let t=Object.getPrototypeOf(e);if(t!==null&&t!==Object.prototype)throw new TypeError(
'"opts" expected a plain object')}var vs=Object.freeze(["context"]),hr=Object.freeze(["context","extraEntropy"]);function Un(e,t){Ls(e);let n=Object.assign(Object.
create(null),e);for(let[r,f]of Object.entries(n))if(f!==void 0&&!t.includes(r))throw new TypeError('unexpected option "'+String(r)+'"; expected one of: '+t.join(
", "));return Object.freeze(n)}function bt(e,t=vs){let n=Un(e,t);return n.context!==void 0&&z(n.context,void 0,"opts.context"),n}function nt(e,t=hr){let n=Un(e,
t);return n.context!==void 0&&z(n.context,void 0,"opts.context"),n.extraEntropy!==!1&&n.extraEntropy!==void 0&&z(n.extraEntropy,void 0,"opts.extraEntropy"),n}function ve(e,...t){
let n=f=>typeof f=="number"?f:f.bytesLen,r=t.reduce((f,o)=>f+n(o),0);return{bytesLen:r,encode:f=>{let o=new Uint8Array(r);for(let c=0,s=0;c<t.length;c++){let i=t[c],
h=n(i),E=typeof i=="number"?f[c]:i.encode(f[c]);z(E,h,e),o.set(E,s),typeof i!="number"&&E.fill(0),s+=h}return o},decode:f=>{z(f,r,e);let o=[];for(let c of t){let s=n(
c),i=f.subarray(0,s);o.push(typeof c=="number"?i:c.decode(i)),f=f.subarray(s)}return o}}}function rt(e,t){let n=e,r=t*n.bytesLen;return{bytesLen:r,encode:f=>{let o=Ss(
f,"u");if(o.length!==t)throw new RangeError(`vecCoder.encode: wrong length=${o.length}. Expected: ${t}`);let c=new Uint8Array(r);for(let s=0,i=0;s<o.length;s++){
let h=n.encode(o[s]);c.set(h,i),h.fill(0),i+=h.length}return c},decode:f=>{z(f,r);let o=[];for(let c=0;c<f.length;c+=n.bytesLen)o.push(n.decode(f.subarray(c,c+n.
bytesLen)));return o}}}function V(...e){for(let t of e)if(Array.isArray(t))for(let n of t)n.fill(0);else t.fill(0)}function Ze(e){if(Re(e,"bits"),e>32)throw new RangeError(
'"bits" expected <= 32, got '+e);return e===32?4294967295:~(-1<<e)>>>0}var Df=Uint8Array.of();function $t(e,t=Df){if(z(e,void 0,"msg"),z(t,void 0,"ctx"),t.length>
255)throw new RangeError("context should be 255 bytes or less");return mt(new Uint8Array([0,t.length]),t,e)}var Bs=Uint8Array.from([6,9,96,134,72,1,101,3,4,2]),
Us={"060960864801650304020b":32,"060960864801650304020c":64};function on(e,t=0){if(typeof e!="function"||typeof e.create!="function")throw new TypeError('"hash"\
 expected hash function, got type='+typeof e);Sn(e),Re(t,"requiredStrength");let n=e.oid;if(z(n,void 0,"hash.oid"),!fn(n.subarray(0,10),Bs))throw new Error('"ha\
sh.oid" is invalid: expected NIST hash');let r=Us[gt(n)];if(r!==void 0&&e.outputLen!==r)throw new Error("Pre-hash XOF output length must be "+r+" bytes for this\
 OID, got: "+e.outputLen);let f=e.outputLen*8/2;if(t>f)throw new Error("Pre-hash security strength too low: "+f+", required: "+t)}function zt(e,t,n=Df){if(on(e),
z(t,void 0,"msg"),z(n,void 0,"ctx"),n.length>255)throw new RangeError("context should be 255 bytes or less");let r=e(t);return mt(new Uint8Array([1,n.length]),n,
e.oid,r)}/*! noble-post-quantum - MIT License (c) 2024 Paul Miller (paulmillr.com) */var Rn=e=>{let{newPoly:t,N:n,Q:r,F:f,ROOT_OF_UNITY:o,brvBits:c,isKyber:s}=e,i=(R,M=r)=>{
let C=R%M|0;return(C>=0?C|0:M+C|0)|0},h=(R,M=r)=>{let C=i(R,M)|0;return(C>M>>1?C-M|0:C)|0};function E(){let R=t(n);for(let M=0;M<n;M++){let C=ur(M,c),P=BigInt(o)**
BigInt(C)%BigInt(r);R[M]=Number(P)|0}return R}let g=E(),A=R=>{throw new Error("not implemented")},_=s?{add:(R,M)=>{let C=R+M|0;return C>=r?C-r|0:C},sub:(R,M)=>{
let C=R-M|0;return C<0?C+r|0:C},mul:(R,M)=>i((R|0)*(M|0))|0,inv:A}:{add:(R,M)=>i((R|0)+(M|0))|0,sub:(R,M)=>i((R|0)-(M|0))|0,mul:(R,M)=>i((R|0)*(M|0))|0,inv:A},S={
N:n,roots:g,invertButterflies:!0,skipStages:s?1:0,brp:!1},U=Dt(_,{dit:!1,...S}),F=Dt(_,{dit:!0,...S}),j={encode:R=>U(R),decode:R=>{F(R);for(let M=0;M<R.length;M++)
R[M]=i(f*R[M]);return R}};return{mod:i,smod:h,nttZetas:g,NTT:{encode:R=>j.encode(R),decode:R=>j.decode(R)},bitsCoder:(R,M)=>{for(let H=0,$=0;H<n;H++)$+=R,$>32&&
Ze($),$%=8;let C=Ze(R),P=R*(n/8);return{bytesLen:P,encode:H=>{let $=H,L=new Uint8Array(P);for(let q=0,Y=0,re=0,be=0;q<$.length;q++)for(Y|=(M.encode($[q])&C)<<re,
re+=R;re>=8;re-=8,Y>>=8)L[be++]=Y&255;return L},decode:H=>{let $=t(n);for(let L=0,q=0,Y=0,re=0;L<H.length;L++)for(q|=H[L]<<Y,Y+=8;Y>=R;Y-=R,q>>=R)$[re++]=M.decode(
q&C);return $}}}}},Kf=e=>(t,n)=>{n||(n=e.blockLen);let r=new Uint8Array(t.length+2);r.set(t);let f=t.length,o=new Uint8Array(n),c=e.create({}),s=0,i=0;return{stats:()=>({
calls:s,xofs:i}),get:(h,E)=>(r[f+0]=h,r[f+1]=E,c.destroy(),c=e.create({}).update(r),s++,()=>(i++,c.xofInto(o))),clean:()=>{c.destroy(),V(o,r)}}},$f=Kf(yf),zf=Kf(
Le);/*! noble-post-quantum - MIT License (c) 2024 Paul Miller (paulmillr.com) */var qf=(e,t,n,r)=>{let f=Ze(n),o=n*(t/8);return{bytesLen:o,encode:c=>{if(c.length!==
t)throw new Error(`wrong length: expected ${t}, got ${c.length}`);let s=new Uint8Array(o);for(let i=0,h=0,E=0,g=0;i<c.length;i++)for(h=h<<n|r.encode(c[i])&f,E+=
n;E>=8;E-=8)s[g++]=h>>>E-8&255;return s},decode:c=>{let s=e(t);for(let i=0,h=0,E=0,g=0;i<c.length;i++)for(h=h<<8|c[i],E+=8;E>=n;E-=n)s[g++]=r.decode(h>>>E-n&f);
return s}}},qt=(e,t)=>{let n=t;return{bytesLen:1+n.bytesLen,encode(r){let f=n.encode(r),o=new Uint8Array(1+f.length);return o[0]=e,o.set(f,1),V(f),o},decode(r){
if(r[0]!==e)throw new Error(`wrong tag: expected ${e}, got 0x${r[0]}`);return n.decode(r.subarray(1))}}},Vt=e=>({encode(n){if(n.length!==e)throw new Error("wron\
g length");let r=[],f=0,o=0,c=(s,i)=>{for(o+=s,f=f<<s|i;o>=8;f&=Ze(o))o-=8,r.push(f>>>o&255)};for(let s=0;s<e;s++){let i=n[s];if(!Number.isInteger(i)||i<-2047||
i>2047)throw new Error(`data[${s}]=${i} out of range`);let h=i<0?1:0;i=Math.abs(i),c(1,h),c(7,i&127),c((i>>>7)+1,1)}return o>0&&r.push(f<<8-o&255),new Uint8Array(
r)},decode(n){let r=new Int16Array(e),f=0,o=0,c=0,s=i=>{for(;o<i&&c<n.length;o+=8)f=f<<8|n[c++];if(o<i)throw new Error(`end of buffer: len=${o} buf=${f} lastByt\
e=${n[c]}`);o-=i;let h=f>>>o;return f&=Ze(o),h};for(let i=0;i<e;i++){let h=s(1),E=s(7),g=0;for(;!s(1);)if(g++,g>15)throw new Error(`limit: ${E|g<<7} > 2047`);let A=E|
g<<7;if(h&&A===0)throw new Error("negative zero encoding");if(A>2047)throw new Error(`limit: ${A} > 2047`);r[i]=h?-A:A}if(f)throw new Error("non-empty accumulat\
or");return r}}),Vf=e=>({encode(t){let n=new Uint8Array(e);return n.set(t),n},decode(t){let n=t.length;for(;n>0&&t[n-1]===0;)n--;return t.subarray(0,n)}}),yr=(...e)=>{
for(let t of e)for(let n=0;n<t.length;n++)t[n].re=0,t[n].im=0};function Rs(e){let t=e;return{lift:n=>n.re!==void 0&&n.im!==void 0?n:{re:n,im:t.ZERO},add:(n,r)=>({
re:t.add(n.re,r.re),im:t.add(n.im,r.im)}),sub:(n,r)=>({re:t.sub(n.re,r.re),im:t.sub(n.im,r.im)}),mul:(n,r)=>({re:t.sub(t.mul(n.re,r.re),t.mul(n.im,r.im)),im:t.add(
t.mul(n.re,r.im),t.mul(n.im,r.re))}),div:(n,r)=>{let f=t.add(t.mul(r.re,r.re),t.mul(r.im,r.im));return{re:t.div(t.add(t.mul(n.re,r.re),t.mul(n.im,r.im)),f),im:t.
div(t.sub(t.mul(n.im,r.re),t.mul(n.re,r.im)),f)}},neg:n=>({re:t.neg(n.re),im:t.neg(n.im)}),conj:n=>({re:n.re,im:t.neg(n.im)}),scale:(n,r)=>({re:t.mul(n.re,r),im:t.
mul(n.im,r)}),magSqSum:(n,r)=>t.add(t.add(t.add(t.mul(n.re,n.re),t.mul(n.im,n.im)),t.mul(r.re,r.re)),t.mul(r.im,r.im)),eql:(n,r)=>t.eql(n.re,r.re)&&t.eql(n.im,r.
im),clone:n=>({re:n.re,im:n.im}),inv:()=>{throw new Error("not implemented")}}}var pr={decode(e){let n=e.length>>1,r=e.length;if(r===0)return[];if(r%2!==0)throw new Error(
"Array length must be even to pair real and imaginary parts.");let f=[];for(let o=0;o<n;o++)f.push({re:e[o],im:e[o+n]});return f},encode(e){let t=[],n=[];for(let r of e)
t.push(r.re),n.push(r.im);return[...t,...n]}},Is={decode(e){let t=e.length;if(t===0)return[];if(t%2!==0)throw new Error("Array length must be even to pair real \
and imaginary parts.");let n=[];for(let r=0;r<t;r+=2)n.push({re:e[r],im:e[r+1]});return n},encode(e){let t=[];for(let n of e)t.push(n.re),t.push(n.im);return t}},
Fs=e=>new Uint8Array(e.buffer,e.byteOffset,e.byteLength),Ns=e=>new Float64Array(lr(Uint8Array.from(e.subarray(0,Math.floor(e.byteLength/8)*8))).buffer),Ms=Object.
freeze({encode(e){let t=new Uint8Array(8);return new DataView(t.buffer,t.byteOffset,t.byteLength).setFloat64(0,e,!1),gt(t)},decode(e){let t=Jt(e);return new DataView(
t.buffer,t.byteOffset,t.byteLength).getFloat64(0,!1)}}),Te=e=>Ms.decode(Rf(e)),Cs=new Uint8Array(64),Ie=40,qe=12289,Hs=qe>>1,xr=BigInt(qe),ft=BigInt(0),gr=BigInt(
1),Wf=BigInt(10),js=BigInt(25),mr=BigInt(31),Ps=BigInt(32),Ds=BigInt(63),Ks=BigInt(64),$s=BigInt("0xffffffff"),Gf=BigInt("0x7fffffffffffffff"),Jf=10952,zs=12287,
Zf=1/qe,qs=-Zf,Vs=[1,1,2,2,4,7,14,27,53,106,209],Ws=[2,2,5,7,12,21,40,78,157,308],Gs=Te(BigInt("4670353323383631276")),In=[{avg:4,std:0},{avg:11,std:1},{avg:24,
std:1},{avg:50,std:1},{avg:102,std:1},{avg:202,std:2},{avg:401,std:4},{avg:794,std:5},{avg:1577,std:8},{avg:3138,std:13},{avg:6308,std:25}],wr=["128386877040064\
3928","6416574995475331444","4078260278032692663","2353523259288686585","1227179971273316331","575931623374121527","242543240509105209","91437049221049666","307\
99446349977173","9255276791179340","2478152334826140","590642893610164","125206034929641","23590435911403","3948334035941","586753615614","77391054539","9056793\
210","940121950","86539696","7062824","510971","32764","1862","94","4","0"].map(BigInt),Ys=Object.freeze([0,Te(BigInt("4574611497772390042")),Te(BigInt("4574501\
679055810265")),Te(BigInt("4574396282908341804")),Te(BigInt("4574245855758572086")),Te(BigInt("4574103865040221165")),Te(BigInt("4573969550563515544")),Te(BigInt(
"4573842244705920822")),Te(BigInt("4573721358406441454")),Te(BigInt("4573606369665796042")),Te(BigInt("4573496814039276259"))]),Yf=Object.freeze([0,Te(BigInt("4\
607707126469777035")),Te(BigInt("4607777455861499430")),Te(BigInt("4607846828256951418")),Te(BigInt("4607949175006100261")),Te(BigInt("4608049571757433526")),Te(
BigInt("4608148125896792003")),Te(BigInt("4608244935301382692")),Te(BigInt("4608340089478362016")),Te(BigInt("4608433670533905013")),Te(BigInt("4608525754002622\
308"))]),Xs=1.8205,Fn=new Uint32Array([10745844,3068844,3741698,5559083,1580863,8248194,2260429,13669192,2736639,708981,4421575,10046180,169348,7122675,4136815,
30538,13063405,7650655,4132,14505003,7826148,417,16768101,11363290,31,8444042,8086568,1,12844466,265321,0,1232676,13644283,0,38047,9111839,0,870,6138264,0,14,12545723,
0,0,3104126,0,0,28824,0,0,198,0,0,1]),Qf=[0,101498,208714,428865,892039,1852696,3842630,7959734,16468416,34034726,70265242],Js=(()=>{let e=Ns(Jt("00000000000000\
0000000000000000000000000000000080000000000000f03fcd3b7f669ea0e63fcd3b7f669ea0e63fcd3b7f669ea0e6bfcd3b7f669ea0e63f468d32cf6b90ed3f63a9aea6e27dd83f63a9aea6e27dd8\
bf468d32cf6b90ed3f63a9aea6e27dd83f468d32cf6b90ed3f468d32cf6b90edbf63a9aea6e27dd83fb05cf7cf9762ef3f0ba6693cb8f8c83f0ba6693cb8f8c8bfb05cf7cf9762ef3fc868ae393bc7e1\
3fa3a10e29669bea3fa3a10e29669beabfc868ae393bc7e13fa3a10e29669bea3fc868ae393bc7e13fc868ae393bc7e1bfa3a10e29669bea3f0ba6693cb8f8c83fb05cf7cf9762ef3fb05cf7cf9762ef\
bf0ba6693cb8f8c83f2625d1a38dd8ef3f2cb429bca617b93f2cb429bca617b9bf2625d1a38dd8ef3fd61d0925f34ce43f4117156b80bce83f4117156b80bce8bfd61d0925f34ce43fb1bd80f1b238ec\
3f3bf606385d2bde3f3bf606385d2bdebfb1bd80f1b238ec3f069fd52e0694d23fda2dc656419fee3fda2dc656419feebf069fd52e0694d23fda2dc656419fee3f069fd52e0694d23f069fd52e0694d2\
bfda2dc656419fee3f3bf606385d2bde3fb1bd80f1b238ec3fb1bd80f1b238ecbf3bf606385d2bde3f4117156b80bce83fd61d0925f34ce43fd61d0925f34ce4bf4117156b80bce83f2cb429bca617b9\
3f2625d1a38dd8ef3f2625d1a38dd8efbf2cb429bca617b93f7e6d79e321f6ef3f14d80df1651fa93f14d80df1651fa9bf7e6d79e321f6ef3fa0ec8c34697de53fafaf6a22dfb5e73fafaf6a22dfb5e7\
bfa0ec8c34697de53f73c73cf47aedec3fc05ce109105ddb3fc05ce109105ddbbf73c73cf47aedec3fdd1fab759a8fd53fe586f6042121ee3fe586f6042121eebfdd1fab759a8fd53fd73092fb7e0aef\
3f1b5f217bf919cf3f1b5f217bf919cfbfd73092fb7e0aef3feeff22998773e03f3e6e19458372eb3f3e6e19458372ebbfeeff22998773e03f4187f347e0b3e93f3570e1fcf70fe33f3570e1fcf70fe3\
bf4187f347e0b3e93f3a618e6e10c8c23f17a5087f55a7ef3f17a5087f55a7efbf3a618e6e10c8c23f17a5087f55a7ef3f3a618e6e10c8c23f3a618e6e10c8c2bf17a5087f55a7ef3f3570e1fcf70fe3\
3f4187f347e0b3e93f4187f347e0b3e9bf3570e1fcf70fe33f3e6e19458372eb3feeff22998773e03feeff22998773e0bf3e6e19458372eb3f1b5f217bf919cf3fd73092fb7e0aef3fd73092fb7e0aef\
bf1b5f217bf919cf3fe586f6042121ee3fdd1fab759a8fd53fdd1fab759a8fd5bfe586f6042121ee3fc05ce109105ddb3f73c73cf47aedec3f73c73cf47aedecbfc05ce109105ddb3fafaf6a22dfb5e7\
3fa0ec8c34697de53fa0ec8c34697de5bfafaf6a22dfb5e73f14d80df1651fa93f7e6d79e321f6ef3f7e6d79e321f6efbf14d80df1651fa93f0dcd846088fdef3f7e66a3f75521993f7e66a3f7552199\
bf0dcd846088fdef3fdf2c1d55b710e63f96ffef37082de73f96ffef37082de7bfdf2c1d55b710e63f3ac94dd13441ed3f8aeda84379efd93f8aeda84379efd9bf3ac94dd13441ed3f9f45fa308508d7\
3f3cc2ccb613dbed3f3cc2ccb613dbedbf9f45fa308508d73f89e564acf338ef3f634f7e6a820bcc3f634f7e6a820bccbf89e564acf338ef3f234b1b54b31ee13f000215580a09eb3f000215580a09eb\
bf234b1b54b31ee13f822746a0a729ea3fdf12dd4c056de23fdf12dd4c056de2bf822746a0a729ea3fc63f8b4414e2c53fa94b71fa6487ef3fa94b71fa6487efbfc63f8b4414e2c53fd39fe17064c2ef\
3f0e73a9564e56bf3f0e73a9564e56bfbfd39fe17064c2ef3fb9502029faafe33ffb639249223ae93ffb639249223ae9bfb9502029faafe33f2a956facc0d7eb3fba9af8dba48bdf3fba9af8dba48bdf\
bf2a956facc0d7eb3f77f6b162d211d13f634968e740d7ee3f634968e740d7eebf77f6b162d211d13f12e148ec8862ee3f016617945c13d43f016617945c13d4bf12e148ec8862ee3f5ec431996ec6dc\
3ff51134214b95ec3ff51134214b95ecbf5ec431996ec6dc3f6e97ff0b0e3be83fe9e5e3bbcae6e43fe9e5e3bbcae6e4bf6e97ff0b0e3be83ff619ce9220d5b23f3a8801adcde9ef3f3a8801adcde9ef\
bff619ce9220d5b23f3a8801adcde9ef3ff619ce9220d5b23ff619ce9220d5b2bf3a8801adcde9ef3fe9e5e3bbcae6e43f6e97ff0b0e3be83f6e97ff0b0e3be8bfe9e5e3bbcae6e43ff51134214b95ec\
3f5ec431996ec6dc3f5ec431996ec6dcbff51134214b95ec3f016617945c13d43f12e148ec8862ee3f12e148ec8862eebf016617945c13d43f634968e740d7ee3f77f6b162d211d13f77f6b162d211d1\
bf634968e740d7ee3fba9af8dba48bdf3f2a956facc0d7eb3f2a956facc0d7ebbfba9af8dba48bdf3ffb639249223ae93fb9502029faafe33fb9502029faafe3bffb639249223ae93f0e73a9564e56bf\
3fd39fe17064c2ef3fd39fe17064c2efbf0e73a9564e56bf3fa94b71fa6487ef3fc63f8b4414e2c53fc63f8b4414e2c5bfa94b71fa6487ef3fdf12dd4c056de23f822746a0a729ea3f822746a0a729ea\
bfdf12dd4c056de23f000215580a09eb3f234b1b54b31ee13f234b1b54b31ee1bf000215580a09eb3f634f7e6a820bcc3f89e564acf338ef3f89e564acf338efbf634f7e6a820bcc3f3cc2ccb613dbed\
3f9f45fa308508d73f9f45fa308508d7bf3cc2ccb613dbed3f8aeda84379efd93f3ac94dd13441ed3f3ac94dd13441edbf8aeda84379efd93f96ffef37082de73fdf2c1d55b710e63fdf2c1d55b710e6\
bf96ffef37082de73f7e66a3f75521993f0dcd846088fdef3f0dcd846088fdefbf7e66a3f75521993fdb929b1662ffef3f84c7defcd121893f84c7defcd12189bfdb929b1662ffef3f3d78f0251959e6\
3fafa8ea5444e7e63fafa8ea5444e7e6bf3d78f0251959e63f8be6c9736169ed3fd793bc632a37d93fd793bc632a37d9bf8be6c9736169ed3fe7cc1d31a9c3d73f9ba0386252b6ed3f9ba0386252b6ed\
bfe7cc1d31a9c3d73f2d2f0b3b604eef3f5104b025a082ca3f5104b025a082cabf2d2f0b3b604eef3f49dbde634d73e13f11d5219ebcd2ea3f11d5219ebcd2eabf49dbde634d73e13fe2fa021b0963ea\
3f59eb3399791ae23f59eb3399791ae2bfe2fa021b0963ea3f31bf50ded96dc73f7720a1a39975ef3f7720a1a39975efbf31bf50ded96dc73f7ba66dfd15ceef3fd5c29ec78537bc3fd5c29ec78537bc\
bf7ba66dfd15ceef3fd4564553d9fee33f0d94efa3ccfbe83f0d94efa3ccfbe8bfd4564553d9fee33f49557226c408ec3fd678ef5219dcde3fd678ef5219dcdebf49557226c408ec3f3edb4c3f44d3d1\
3f740bdfc8d8bbee3f740bdfc8d8bbeebf3edb4c3f44d3d13f0dd14cab7b81ee3f5281e1c21054d33f5281e1c21054d3bf0dd14cab7b81ee3f89e3865b7779dd3f9b7388348b67ec3f9b7388348b67ec\
bf89e3865b7779dd3fbf2eba0f407ce83f39099b9b449ae43f39099b9b449ae4bfbf2eba0f407ce83f19a49a0ad0f6b53f095bbdfccae1ef3f095bbdfccae1efbf19a49a0ad0f6b53fad718e6595f0ef\
3fe020f8796e65af3fe020f8796e65afbfad718e6595f0ef3f9655a3928232e53f711757e3ecf8e73f711757e3ecf8e7bf9655a3928232e53f5cfcfcf3f0c1ec3fe71e01d84912dc3fe71e01d84912dc\
bf5cfcfcf3f0c1ec3f6ae77842e2d1d43f7ec12b4b6a42ee3f7ec12b4b6a42eebf6ae77842e2d1d43fc273e4a378f1ee3faefd370eb84fd03faefd370eb84fd0bfc273e4a378f1ee3fb73e4c87fc1ce0\
3fd2903567aaa5eb3fd2903567aaa5ebbfb73e4c87fc1ce03f42d7c7f47e77e93ff35906b15860e33ff35906b15860e3bf42d7c7f47e77e93f77f5dacef039c13f41d7957179b5ef3f41d7957179b5ef\
bf77f5dacef039c13f9b09c924f997ef3f5a3e29b17655c43f5a3e29b17655c4bf9b09c924f997ef3feaf3fa25dbbee23f94af29ef43efe93f94af29ef43efe9bfeaf3fa25dbbee23f1257f53e4d3eeb\
3f8f895d4d70c9e03f8f895d4d70c9e0bf1257f53e4d3eeb3f114345e54f93cd3fda3a76f75222ef3fda3a76f75222efbf114345e54f93cd3f2bbe2d62aefeed3fc6273fdd7d4cd63fc6273fdd7d4cd6\
bf2bbe2d62aefeed3fca3f6d2bc8a6da3fdc353e74e717ed3fdc353e74e717edbfca3f6d2bc8a6da3f6172035fe771e73f8c0165be7bc7e53f8c0165be7bc7e5bf6172035fe771e73fcd55947565d8a2\
3f5df7feef72faef3f5df7feef72faefbfcd55947565d8a23f5df7feef72faef3fcd55947565d8a23fcd55947565d8a2bf5df7feef72faef3f8c0165be7bc7e53f6172035fe771e73f6172035fe771e7\
bf8c0165be7bc7e53fdc353e74e717ed3fca3f6d2bc8a6da3fca3f6d2bc8a6dabfdc353e74e717ed3fc6273fdd7d4cd63f2bbe2d62aefeed3f2bbe2d62aefeedbfc6273fdd7d4cd63fda3a76f75222ef\
3f114345e54f93cd3f114345e54f93cdbfda3a76f75222ef3f8f895d4d70c9e03f1257f53e4d3eeb3f1257f53e4d3eebbf8f895d4d70c9e03f94af29ef43efe93feaf3fa25dbbee23feaf3fa25dbbee2\
bf94af29ef43efe93f5a3e29b17655c43f9b09c924f997ef3f9b09c924f997efbf5a3e29b17655c43f41d7957179b5ef3f77f5dacef039c13f77f5dacef039c1bf41d7957179b5ef3ff35906b15860e3\
3f42d7c7f47e77e93f42d7c7f47e77e9bff35906b15860e33fd2903567aaa5eb3fb73e4c87fc1ce03fb73e4c87fc1ce0bfd2903567aaa5eb3faefd370eb84fd03fc273e4a378f1ee3fc273e4a378f1ee\
bfaefd370eb84fd03f7ec12b4b6a42ee3f6ae77842e2d1d43f6ae77842e2d1d4bf7ec12b4b6a42ee3fe71e01d84912dc3f5cfcfcf3f0c1ec3f5cfcfcf3f0c1ecbfe71e01d84912dc3f711757e3ecf8e7\
3f9655a3928232e53f9655a3928232e5bf711757e3ecf8e73fe020f8796e65af3fad718e6595f0ef3fad718e6595f0efbfe020f8796e65af3f095bbdfccae1ef3f19a49a0ad0f6b53f19a49a0ad0f6b5\
bf095bbdfccae1ef3f39099b9b449ae43fbf2eba0f407ce83fbf2eba0f407ce8bf39099b9b449ae43f9b7388348b67ec3f89e3865b7779dd3f89e3865b7779ddbf9b7388348b67ec3f5281e1c21054d3\
3f0dd14cab7b81ee3f0dd14cab7b81eebf5281e1c21054d33f740bdfc8d8bbee3f3edb4c3f44d3d13f3edb4c3f44d3d1bf740bdfc8d8bbee3fd678ef5219dcde3f49557226c408ec3f49557226c408ec\
bfd678ef5219dcde3f0d94efa3ccfbe83fd4564553d9fee33fd4564553d9fee3bf0d94efa3ccfbe83fd5c29ec78537bc3f7ba66dfd15ceef3f7ba66dfd15ceefbfd5c29ec78537bc3f7720a1a39975ef\
3f31bf50ded96dc73f31bf50ded96dc7bf7720a1a39975ef3f59eb3399791ae23fe2fa021b0963ea3fe2fa021b0963eabf59eb3399791ae23f11d5219ebcd2ea3f49dbde634d73e13f49dbde634d73e1\
bf11d5219ebcd2ea3f5104b025a082ca3f2d2f0b3b604eef3f2d2f0b3b604eefbf5104b025a082ca3f9ba0386252b6ed3fe7cc1d31a9c3d73fe7cc1d31a9c3d7bf9ba0386252b6ed3fd793bc632a37d9\
3f8be6c9736169ed3f8be6c9736169edbfd793bc632a37d93fafa8ea5444e7e63f3d78f0251959e63f3d78f0251959e6bfafa8ea5444e7e63f84c7defcd121893fdb929b1662ffef3fdb929b1662ffef\
bf84c7defcd121893f928a8e85d8ffef3f710067fef021793f710067fef02179bf928a8e85d8ffef3f10af9184f77ce63f7582c1730dc4e63f7582c1730dc4e6bf10af9184f77ce63ff9ecb8020b7ded\
3fb0a4c82ea5dad83fb0a4c82ea5dad8bff9ecb8020b7ded3fc4aa4eb0e320d83f888966a983a3ed3f888966a983a3edbfc4aa4eb0e320d83f849e78b1a258ef3f6643dcf2cbbdc93f6643dcf2cbbdc9\
bf849e78b1a258ef3fb8b9f2095a9de13fd4c0165932b7ea3fd4c0165932b7eabfb8b9f2095a9de13f9de69f52587fea3f1b86bc8bf0f0e13f1b86bc8bf0f0e1bf9de69f52587fea3fc6649ce86633c8\
3fb7bbf57d3f6cef3fb7bbf57d3f6cefbfc6649ce86633c83f840b221479d3ef3f035c4924b7a7ba3f035c4924b7a7babf840b221479d3ef3fb16b8e17ff25e43fcc98163345dce83fcc98163345dce8\
bfb16b8e17ff25e43fb071a93fde20ec3f1451f8eae083de3f1451f8eae083debfb071a93fde20ec3f71bbc3abbb33d23f8ea8e7e8b2adee3f8ea8e7e8b2adeebf71bbc3abbb33d23ff2f71d368490ee\
3f8703ecda22f4d23f8703ecda22f4d2bff2f71d368490ee3f58cc81148fd2dd3f07692b014250ec3f07692b014250ecbf58cc81148fd2dd3faad44d9a7e9ce83f4773981bb573e43f4773981bb573e4\
bfaad44d9a7e9ce83f215b5d6a5887b73f56f4f19f53ddef3f56f4f19f53ddefbf215b5d6a5887b73f5c578d0f83f3ef3fe3d7c0128d42ac3fe3d7c0128d42acbf5c578d0f83f3ef3f375197381058e5\
3fb23dc36c83d7e73fb23dc36c83d7e7bf375197381058e53ff6328b89d9d7ec3f01bd0423cfb7db3f01bd0423cfb7dbbff6328b89d9d7ec3f243caf80d830d53f25ce70e8ea31ee3f25ce70e8ea31ee\
bf243caf80d830d53fec950b0c22feee3ff9eddf1adcdccf3ff9eddf1adcdccfbfec950b0c22feee3f1a22ae265648e03fe90475d2388ceb3fe90475d2388cebbf1a22ae265648e03f220dd82ecf95e9\
3f578e0c0d4038e33f578e0c0d4038e3bf220dd82ecf95e93fcf7becd41601c23fbbcf468e8eaeef3fbbcf468e8eaeefbfcf7becd41601c23fc8b2ad55ce9fef3f148dcdb0db8ec33f148dcdb0db8ec3\
bfc8b2ad55ce9fef3f17eae8e380e7e23fd580eaf5b1d1e93fd580eaf5b1d1e9bf17eae8e380e7e23f051492fe8958eb3fe1c51774909ee03fe1c51774909ee0bf051492fe8958eb3f1b1a101eca56ce\
3f5d20f7538f16ef3f5d20f7538f16efbf1b1a101eca56ce3fac8029ca0c10ee3f93a69e3727eed53f93a69e3727eed5bfac8029ca0c10ee3f09407f6c0d02db3f92bdb2fed402ed3f92bdb2fed402ed\
bf09407f6c0d02db3fe5554f570094e73f50725d2a8da2e53f50725d2a8da2e5bfe5554f570094e73f43cd90d200fca53fdf81dbda71f8ef3fdf81dbda71f8efbf43cd90d200fca53ff8d3f11d25fcef\
3f01cfd13137699f3f01cfd13137699fbff8d3f11d25fcef3f7470839534ece53f8dd2a88d944fe73f8dd2a88d944fe7bf7470839534ece53f9fefe020b22ced3fe5a1de27414bda3fe5a1de27414bda\
bf9fefe020b22ced3f177ec77d9daad63fda47def705eded3fda47def705ededbf177ec77d9daad63f9d9a08c9c92def3f86b212b38ccfcc3f86b212b38ccfccbf9d9a08c9c92def3f7e8e2abb26f4e0\
3fb4130047cd23eb3fb4130047cd23ebbf7e8e2abb26f4e03f37f9baea950cea3fa89c62270796e23fa89c62270796e2bf37f9baea950cea3ff2c59785df1bc53fdb41aeffd58fef3fdb41aeffd58fef\
bff2c59785df1bc53f8641e41716bcef3f1d83ba47a072c03f1d83ba47a072c0bf8641e41716bcef3f22ebdf854188e33fd76d8ee4ef58e93fd76d8ee4ef58e9bf22ebdf854188e33fea8093c4d7beeb\
3f1012e74bf6e2df3f1012e74bf6e2dfbfea8093c4d7beeb3f90dbdbcfd9b0d03fbc9d5ae282e4ee3fbc9d5ae282e4eebf90dbdbcfd9b0d03ffc9f72049f52ee3f541057a5b872d43f541057a5b872d4\
bffc9f72049f52ee3f0b0097497f6cdc3f00b9a069c1abec3f00b9a069c1abecbf0b0097497f6cdc3fcc7ab5331b1ae83f9ba0599fc00ce53f9ba0599fc00ce5bfcc7ab5331b1ae83fb309d7340144b1\
3fc473b6ec58edef3fc473b6ec58edefbfb309d7340144b13f40392eaff3e5ef3f962027791166b43f962027791166b4bf40392eaff3e5ef3f0400ec45a1c0e43fcc58e91ac55be83fcc58e91ac55be8\
bf0400ec45a1c0e43ff33c23528e7eec3f5bdbe9e81620dd3f5bdbe9e81620ddbff33c23528e7eec3fb71404faceb3d33f44976adb2772ee3f44976adb2772eebfb71404faceb3d33f84bfc3d3b2c9ee\
3f775176d7a072d13f775176d7a072d1bf84bfc3d3b2c9ee3f67d03f960534df3fdd7753e164f0eb3fdd7753e164f0ebbf67d03f960534df3fa29dd46f161be93f4483c53882d7e33f4483c53882d7e3\
bfa29dd46f161be93fc99faecb0ec7bd3f21b7fe6c64c8ef3f21b7fe6c64c8efbfc99faecb0ec7bd3f6e3de629a67eef3fb24af60413a8c63fb24af60413a8c6bf6e3de629a67eef3f1fac98fbd543e2\
3fc89a11c87846ea3fc89a11c87846eabf1fac98fbd543e23f74143cb404eeea3feb6c33af1549e13feb6c33af1549e1bf74143cb404eeea3f22673def3247cb3fdd92ff85d043ef3fdd92ff85d043ef\
bf22673def3247cb3f600241cbd7c8ed3ff618240f3466d73ff618240f3466d7bf600241cbd7c8ed3fffbd41617193d93fb13ee9526f55ed3fb13ee9526f55edbfffbd41617193d93f7a6d17b3420ae7\
3fe91b1ca30335e63fe91b1ca30335e6bf7a6d17b3420ae73ffd0ee3bb36d9923fa1514bb49cfeef3fa1514bb49cfeefbffd0ee3bb36d9923fa1514bb49cfeef3ffd0ee3bb36d9923ffd0ee3bb36d992\
bfa1514bb49cfeef3fe91b1ca30335e63f7a6d17b3420ae73f7a6d17b3420ae7bfe91b1ca30335e63fb13ee9526f55ed3fffbd41617193d93fffbd41617193d9bfb13ee9526f55ed3ff618240f3466d7\
3f600241cbd7c8ed3f600241cbd7c8edbff618240f3466d73fdd92ff85d043ef3f22673def3247cb3f22673def3247cbbfdd92ff85d043ef3feb6c33af1549e13f74143cb404eeea3f74143cb404eeea\
bfeb6c33af1549e13fc89a11c87846ea3f1fac98fbd543e23f1fac98fbd543e2bfc89a11c87846ea3fb24af60413a8c63f6e3de629a67eef3f6e3de629a67eefbfb24af60413a8c63f21b7fe6c64c8ef\
3fc99faecb0ec7bd3fc99faecb0ec7bdbf21b7fe6c64c8ef3f4483c53882d7e33fa29dd46f161be93fa29dd46f161be9bf4483c53882d7e33fdd7753e164f0eb3f67d03f960534df3f67d03f960534df\
bfdd7753e164f0eb3f775176d7a072d13f84bfc3d3b2c9ee3f84bfc3d3b2c9eebf775176d7a072d13f44976adb2772ee3fb71404faceb3d33fb71404faceb3d3bf44976adb2772ee3f5bdbe9e81620dd\
3ff33c23528e7eec3ff33c23528e7eecbf5bdbe9e81620dd3fcc58e91ac55be83f0400ec45a1c0e43f0400ec45a1c0e4bfcc58e91ac55be83f962027791166b43f40392eaff3e5ef3f40392eaff3e5ef\
bf962027791166b43fc473b6ec58edef3fb309d7340144b13fb309d7340144b1bfc473b6ec58edef3f9ba0599fc00ce53fcc7ab5331b1ae83fcc7ab5331b1ae8bf9ba0599fc00ce53f00b9a069c1abec\
3f0b0097497f6cdc3f0b0097497f6cdcbf00b9a069c1abec3f541057a5b872d43ffc9f72049f52ee3ffc9f72049f52eebf541057a5b872d43fbc9d5ae282e4ee3f90dbdbcfd9b0d03f90dbdbcfd9b0d0\
bfbc9d5ae282e4ee3f1012e74bf6e2df3fea8093c4d7beeb3fea8093c4d7beebbf1012e74bf6e2df3fd76d8ee4ef58e93f22ebdf854188e33f22ebdf854188e3bfd76d8ee4ef58e93f1d83ba47a072c0\
3f8641e41716bcef3f8641e41716bcefbf1d83ba47a072c03fdb41aeffd58fef3ff2c59785df1bc53ff2c59785df1bc5bfdb41aeffd58fef3fa89c62270796e23f37f9baea950cea3f37f9baea950cea\
bfa89c62270796e23fb4130047cd23eb3f7e8e2abb26f4e03f7e8e2abb26f4e0bfb4130047cd23eb3f86b212b38ccfcc3f9d9a08c9c92def3f9d9a08c9c92defbf86b212b38ccfcc3fda47def705eded\
3f177ec77d9daad63f177ec77d9daad6bfda47def705eded3fe5a1de27414bda3f9fefe020b22ced3f9fefe020b22cedbfe5a1de27414bda3f8dd2a88d944fe73f7470839534ece53f7470839534ece5\
bf8dd2a88d944fe73f01cfd13137699f3ff8d3f11d25fcef3ff8d3f11d25fcefbf01cfd13137699f3fdf81dbda71f8ef3f43cd90d200fca53f43cd90d200fca5bfdf81dbda71f8ef3f50725d2a8da2e5\
3fe5554f570094e73fe5554f570094e7bf50725d2a8da2e53f92bdb2fed402ed3f09407f6c0d02db3f09407f6c0d02dbbf92bdb2fed402ed3f93a69e3727eed53fac8029ca0c10ee3fac8029ca0c10ee\
bf93a69e3727eed53f5d20f7538f16ef3f1b1a101eca56ce3f1b1a101eca56cebf5d20f7538f16ef3fe1c51774909ee03f051492fe8958eb3f051492fe8958ebbfe1c51774909ee03fd580eaf5b1d1e9\
3f17eae8e380e7e23f17eae8e380e7e2bfd580eaf5b1d1e93f148dcdb0db8ec33fc8b2ad55ce9fef3fc8b2ad55ce9fefbf148dcdb0db8ec33fbbcf468e8eaeef3fcf7becd41601c23fcf7becd41601c2\
bfbbcf468e8eaeef3f578e0c0d4038e33f220dd82ecf95e93f220dd82ecf95e9bf578e0c0d4038e33fe90475d2388ceb3f1a22ae265648e03f1a22ae265648e0bfe90475d2388ceb3ff9eddf1adcdccf\
3fec950b0c22feee3fec950b0c22feeebff9eddf1adcdccf3f25ce70e8ea31ee3f243caf80d830d53f243caf80d830d5bf25ce70e8ea31ee3f01bd0423cfb7db3ff6328b89d9d7ec3ff6328b89d9d7ec\
bf01bd0423cfb7db3fb23dc36c83d7e73f375197381058e53f375197381058e5bfb23dc36c83d7e73fe3d7c0128d42ac3f5c578d0f83f3ef3f5c578d0f83f3efbfe3d7c0128d42ac3f56f4f19f53ddef\
3f215b5d6a5887b73f215b5d6a5887b7bf56f4f19f53ddef3f4773981bb573e43faad44d9a7e9ce83faad44d9a7e9ce8bf4773981bb573e43f07692b014250ec3f58cc81148fd2dd3f58cc81148fd2dd\
bf07692b014250ec3f8703ecda22f4d23ff2f71d368490ee3ff2f71d368490eebf8703ecda22f4d23f8ea8e7e8b2adee3f71bbc3abbb33d23f71bbc3abbb33d2bf8ea8e7e8b2adee3f1451f8eae083de\
3fb071a93fde20ec3fb071a93fde20ecbf1451f8eae083de3fcc98163345dce83fb16b8e17ff25e43fb16b8e17ff25e4bfcc98163345dce83f035c4924b7a7ba3f840b221479d3ef3f840b221479d3ef\
bf035c4924b7a7ba3fb7bbf57d3f6cef3fc6649ce86633c83fc6649ce86633c8bfb7bbf57d3f6cef3f1b86bc8bf0f0e13f9de69f52587fea3f9de69f52587feabf1b86bc8bf0f0e13fd4c0165932b7ea\
3fb8b9f2095a9de13fb8b9f2095a9de1bfd4c0165932b7ea3f6643dcf2cbbdc93f849e78b1a258ef3f849e78b1a258efbf6643dcf2cbbdc93f888966a983a3ed3fc4aa4eb0e320d83fc4aa4eb0e320d8\
bf888966a983a3ed3fb0a4c82ea5dad83ff9ecb8020b7ded3ff9ecb8020b7dedbfb0a4c82ea5dad83f7582c1730dc4e63f10af9184f77ce63f10af9184f77ce6bf7582c1730dc4e63f710067fef02179\
3f928a8e85d8ffef3f928a8e85d8ffefbf710067fef021793f021d6221f6ffef3fbaa4ccbef821693fbaa4ccbef82169bf021d6221f6ffef3f719ca1ead18ee63f9ce22fed5cb2e63f9ce22fed5cb2e6\
bf719ca1ead18ee63f4fa44584c486ed3f44edd5864bacd83f44edd5864bacd8bf4fa44584c486ed3f3f90f3aa6a4fd83f463d8bdd009aed3f463d8bdd009aedbf3f90f3aa6a4fd83f5d6843eda65def\
3ffa2ab6e9495bc93ffa2ab6e9495bc9bf5d6843eda65def3fbf73131750b2e13f8eb92c7a54a9ea3f8eb92c7a54a9eabfbf73131750b2e13fd25a546e678dea3f7248dc641bdce13f7248dc641bdce1\
bfd25a546e678dea3f0418c4271796c83fee3c88567567ef3fee3c88567567efbf0418c4271796c83f9e5ca72d0dd6ef3f5ca824ebb6dfb93f5ca824ebb6dfb9bf9e5ca72d0dd6ef3f80432a5b7f39e4\
3f554618756acce83f554618756acce8bf80432a5b7f39e43ff1e33149d12cec3f25d83c6da857de3f25d83c6da857debff1e33149d12cec3fba545599e663d23f0058e69383a6ee3f0058e69383a6ee\
bfba545599e663d23f306b0136ec97ee3f2045954e1ac4d23f2045954e1ac4d2bf306b0136ec97ee3fde41a966fffedd3f04c041318344ec3f04c041318344ecbfde41a966fffedd3f881dde1e87ace8\
3fa2322b695a60e43fa2322b695a60e4bf881dde1e87ace83fa130c112874fb83f8c531475fadaef3f8c531475fadaefbfa130c112874fb83fd3beb154dcf4ef3f17835fbd01b1aa3f17835fbd01b1aa\
bfd3beb154dcf4ef3f9f649751c36ae53f33d3e29cb8c6e73f33d3e29cb8c6e7bf9f649751c36ae53f60a09927b3e2ec3f9356fd14788adb3f9356fd14788adbbf60a09927b3e2ec3fb467f4124060d5\
3f7a1939448f29ee3f7a1939448f29eebfb467f4124060d53f8c73cf145a04ef3f0238bd80747bcf3f0238bd80747bcfbf8c73cf145a04ef3fb7b831ecf35de03fe992e786667feb3fe992e786667feb\
bfb7b831ecf35de03fb2062ba4dfa4e93f1fa649ec2124e33f1fa649ec2124e3bfb2062ba4dfa4e93f0934fd4d9964c23fdcfd0ccbfbaaef3fdcfd0ccbfbaaefbf0934fd4d9964c23f91177aac9ba3ef\
3fa71645f97b2bc33fa71645f97b2bc3bf91177aac9ba3ef3f1510444bc2fbe23fc275f010d1c2e93fc275f010d1c2e9bf1510444bc2fbe23f47bcfd148f65eb3f8cb032201189e03f8cb032201189e0\
bf47bcfd148f65eb3f48e32d466bb8ce3f5f8f89bc9010ef3f5f8f89bc9010efbf48e32d466bb8ce3fd966dc2fa018ee3fb6b39d8be7bed53fb6b39d8be7bed5bfd966dc2fa018ee3f7219b31d972fdb\
3f7b46cee830f8ec3f7b46cee830f8ecbf7219b31d972fdb3fd297bf07f7a4e73fdf23f7d50190e53fdf23f7d50190e5bfd297bf07f7a4e73f864687a5ba8da73f64911bbb53f7ef3f64911bbb53f7ef\
bf864687a5ba8da73f79a6e29ce0fcef3f1d3be54c4f459c3f1d3be54c4f459cbf79a6e29ce0fcef3f106ae5bd7cfee53f4299078e553ee73f4299078e553ee7bf106ae5bd7cfee53fdcfbcb7bfc36ed\
3fc00ab543651dda3fc00ab543651ddabfdcfbcb7bfc36ed3fb60c8a6398d9d63f818d6d0f16e4ed3f818d6d0f16e4edbfb60c8a6398d9d63ff0ae3a5a6833ef3fdd745d53906dcc3fdd745d53906dcc\
bff0ae3a5a6833ef3f57a9d0487209e13ff5a24c2a7416eb3ff5a24c2a7416ebbf57a9d0487209e13f5ea7c0d2261bea3fba3c4def8b81e23fba3c4def8b81e2bf5ea7c0d2261bea3fdecb5486007fc5\
3f784bcb37a78bef3f784bcb37a78befbfdecb5486007fc53f888d0a0f47bfef3f5bb86fade80ec03f5bb86fade80ec0bf888d0a0f47bfef3f2930d6e3239ce33f6c4aace39049e93f6c4aace39049e9\
bf2930d6e3239ce33f27230dcb54cbeb3fded2245c57b7df3fded2245c57b7dfbf27230dcb54cbeb3fce49174e5be1d03f5186076aebddee3f5186076aebddeebfce49174e5be1d03fd36704559d5aee\
3ff03689dc1043d43ff03689dc1043d4bfd36704559d5aee3f895386c37f99dc3f49c4b9198fa0ec3f49c4b9198fa0ecbf895386c37f99dc3fff45f5139c2ae83f86a4cc25ccf9e43f86a4cc25ccf9e4\
bfff45f5139c2ae83f4d44ed74960cb23f0f4130259debef3f0f4130259debefbf4d44ed74960cb23f602d4885eae7ef3f99a2c5129f9db33f99a2c5129f9db3bf602d4885eae7ef3f7f9f586dbcd3e4\
3ffa83af11714be83ffa83af11714be8bf7f9f586dbcd3e43f139c0287f589ec3f21cde1ae4bf3dc3f21cde1ae4bf3dcbf139c0287f589ec3f71c26ee99be3d33fa7535dc5616aee3fa7535dc5616aee\
bf71c26ee99be3d33f0990995e83d0ee3f7893c6ef3e42d13f7893c6ef3e42d1bf0990995e83d0ee3fa3cd56e6de5fdf3fc15411611be4eb3fc15411611be4ebbfa3cd56e6de5fdf3f15a8c51fa42ae9\
3f18c58149c4c3e33f18c58149c4c3e3bf15a8c51fa42ae93f3faae4fdb78ebe3ff69a7d3b6ec5ef3ff69a7d3b6ec5efbf3faae4fdb78ebe3f0cc6404a0f83ef3f0d831d831a45c63f0d831d831a45c6\
bf0cc6404a0f83ef3f1071bb4c7358e23fc63b594a1838ea3fc63b594a1838eabf1071bb4c7358e23fb6579fd88ffbea3f4f25eecfe933e13f4f25eecfe933e1bfb6579fd88ffbea3fad5df13463a9cb\
3f65bc1bbc6b3eef3f65bc1bbc6b3eefbfad5df13463a9cb3f5a918af3fed1ed3f921026c96337d73f921026c96337d7bf5a918af3fed1ed3ff2f90d447dc1d93f2475181b5b4bed3f2475181b5b4bed\
bff2f90d447dc1d93fbf410e96ac1be73fff22ec4fe422e63fff22ec4fe422e6bfbf410e96ac1be73f26b2fa214dfd953f77cb70681cfeef3f77cb70681cfeefbf26b2fa214dfd953fd13bc54309ffef\
3fcb97b96a296a8f3fcb97b96a296a8fbfd13bc54309ffef3f5b537f431547e63f755bc999caf8e63f755bc999caf8e6bf5b537f431547e63f7f8a8872715fed3f8f94abb75565d93f8f94abb75565d9\
bf7f8a8872715fed3faedf13e6f594d73f9a7595439ebfed3f9a7595439ebfedbfaedf13e6f594d73fb4abbc062249ef3fabb9f3d5f1e4ca3fabb9f3d5f1e4cabfb4abbc062249ef3fbce2dbe4365ee1\
3fefec45f368e0ea3fefec45f368e0eabfbce2dbe4365ee13f23f59010c954ea3fe2132c662d2fe23fe2132c662d2fe2bf23f59010c954ea3fffc4088dfd0ac73f2a321a9c297aef3f2a321a9c297aef\
bfffc4088dfd0ac73f5443910347cbef3fc17d303b53ffbc3fc17d303b53ffbcbf5443910347cbef3f8006beea33ebe33ffe5e5743790be93ffe5e5743790be9bf8006beea33ebe33f47b1a1259dfceb\
3ffef7bf061908df3ffef7bf061908dfbf47b1a1259dfceb3f43f2e8fbf7a2d13fb2f61a4bcfc2ee3fb2f61a4bcfc2eebf43f2e8fbf7a2d13f5a16a529db79ee3fabb653e3f583d33fabb653e3f583d3\
bf5a16a529db79ee3f9d60a82bd04cdd3fd7aa9e891573ec3fd7aa9e891573ecbf9d60a82bd04cdd3f95a19a1d0a6ce83ff122675179ade43ff122675179ade4bf95a19a1d0a6ce83f0a4d4d4a772eb5\
3f86d8e92be9e3ef3f86d8e92be9e3efbf0a4d4d4a772eb53f9161820201efef3f6430464e617bb03f6430464e617bb0bf9161820201efef3fa69ad91ca81fe53ffa526e758b09e83ffa526e758b09e8\
bfa69ad91ca81fe53f99da000ae2b6ec3f293126476d3fdc3f293126476d3fdcbf99da000ae2b6ec3ff3821bd153a2d43f5ece81ff8d4aee3f5ece81ff8d4aeebff3821bd153a2d43f44a5504c07ebee\
3f1e66eb054e80d03f1e66eb054e80d0bf44a5504c07ebee3fe1822bc84007e03f0dc4b6a049b2eb3f0dc4b6a049b2ebbfe1822bc84007e03fe17fbd423f68e93f8d7f811b5374e33f8d7f811b5374e3\
bfe17fbd423f68e93f8667b2bc4dd6c03fb7ad668dd1b8ef3fb7ad668dd1b8efbf8667b2bc4dd6c03f08ac854ff193ef3f88fa797fb1b8c43f88fa797fb1b8c4bf08ac854ff193ef3f58eb7ae876aae2\
3fde4931f1f4fde93fde4931f1f4fde9bf58eb7ae876aae23ff37bf3a51531eb3fb6c44bb8d0dee03fb6c44bb8d0dee0bff37bf3a51531eb3feebd2c4d7731cd3fce0946fc1728ef3fce0946fc1728ef\
bfeebd2c4d7731cd3f9ca59b6ae3f5ed3fcb63ad9c947bd63fcb63ad9c947bd6bf9ca59b6ae3f5ed3f1bf3dbd30c79da3fe1a4e5c65522ed3fe1a4e5c65522edbf1bf3dbd30c79da3f6447302cc560e7\
3f5c343ee7ded9e53f5c343ee7ded9e5bf6447302cc560e73f7fc142db8546a13faefd25e455fbef3faefd25e455fbefbf7fc142db8546a13f14c008427cf9ef3f7961f86f396aa43f7961f86f396aa4\
bf14c008427cf9ef3f48744f260bb5e53f5bb3901bfb82e73f5bb3901bfb82e7bf48744f260bb5e53fb9d2592f670ded3f09dc5c1273d4da3f09dc5c1273d4dabfb9d2592f670ded3f02c2885c591dd6\
3f540f28d96607ee3f540f28d96607eebf02c2885c591dd63f084728be7a1cef3f9a09013f16f5cd3f9a09013f16f5cdbf084728be7a1cef3fec858f8705b4e03f2579de09744beb3f2579de09744beb\
bfec858f8705b4e03f7224b4ed82e0e93fb89b4ed333d3e23fb89b4ed333d3e2bf7224b4ed82e0e93f9348db572ff2c33f29defb7ced9bef3f29defb7ced9befbf9348db572ff2c33f4dd581c60db2ef\
3fe724be40899dc13fe724be40899dc1bf4dd581c60db2ef3fe14dc152524ce33f947545f1ae86e93f947545f1ae86e9bfe14dc152524ce33f5e15d91ffa98eb3f96bded55ae32e03f96bded55ae32e0\
bf5e15d91ffa98eb3fd2fdb906181fd03fc0a31ce5d6f7ee3fc0a31ce5d6f7eebfd2fdb906181fd03f85ce75ec333aee3f487019dc6301d53f487019dc6301d5bf85ce75ec333aee3fd9c0ff1715e5db\
3fa0dec220eeccec3fa0dec220eeccecbfd9c0ff1715e5db3f8636b0873fe8e73ffc9d15f54f45e53ffc9d15f54f45e5bf8636b0873fe8e73fc98e80f906d4ad3fed31e11416f2ef3fed31e11416f2ef\
bfc98e80f906d4ad3f0733f72299dfef3f29b1793e1bbfb63f29b1793e1bbfb6bf0733f72299dfef3fff9160300387e43fa11b48e7668ce83fa11b48e7668ce8bfff9160300387e43f5af8fe59ef5bec\
3fd910fa5c0ca6dd3fd910fa5c0ca6ddbf5af8fe59ef5bec3fafba38b61f24d33f2560ad5b0989ee3f2560ad5b0989eebfafba38b61f24d33f11885b51cfb4ee3fbe27d7838503d23fbe27d7838503d2\
bf11885b51cfb4ee3f2056f29506b0de3f575e46dcd914ec3f575e46dcd914ecbf2056f29506b0de3f496c489b10ece83f8c103d667212e43f8c103d667212e4bf496c489b10ece83f4cf638eca66fbb\
3f8760d858d1d0ef3f8760d858d1d0efbf4cf638eca66fbb3fb77e4b43f670ef3f1ccbd2bba7d0c73f1ccbd2bba7d0c7bfb77e4b43f670ef3fd66075a1ba05e23ff5609dde3871ea3ff5609dde3871ea\
bfd66075a1ba05e23fc8fa3ebdffc4ea3fe5463a1f5988e13fe5463a1f5988e1bfc8fa3ebdffc4ea3fda31181b3e20ca3f072daf1f8b53ef3f072daf1f8b53efbfda31181b3e20ca3fb98ae62cf4aced\
3fe44173d34df2d73fe44173d34df2d7bfb98ae62cf4aced3fd17bef81ef08d93fff0d8c503f73ed3fff0d8c503f73edbfd17bef81ef08d93fcdaf4aefafd5e63f86b3523f0f6be63f86b3523f0f6be6\
bfcdaf4aefafd5e63f0397500e6bd9823f4f8c972ca7ffef3f4f8c972ca7ffefbf0397500e6bd9823f4f8c972ca7ffef3f0397500e6bd9823f0397500e6bd982bf4f8c972ca7ffef3f86b3523f0f6be6\
3fcdaf4aefafd5e63fcdaf4aefafd5e6bf86b3523f0f6be63fff0d8c503f73ed3fd17bef81ef08d93fd17bef81ef08d9bfff0d8c503f73ed3fe44173d34df2d73fb98ae62cf4aced3fb98ae62cf4aced\
bfe44173d34df2d73f072daf1f8b53ef3fda31181b3e20ca3fda31181b3e20cabf072daf1f8b53ef3fe5463a1f5988e13fc8fa3ebdffc4ea3fc8fa3ebdffc4eabfe5463a1f5988e13ff5609dde3871ea\
3fd66075a1ba05e23fd66075a1ba05e2bff5609dde3871ea3f1ccbd2bba7d0c73fb77e4b43f670ef3fb77e4b43f670efbf1ccbd2bba7d0c73f8760d858d1d0ef3f4cf638eca66fbb3f4cf638eca66fbb\
bf8760d858d1d0ef3f8c103d667212e43f496c489b10ece83f496c489b10ece8bf8c103d667212e43f575e46dcd914ec3f2056f29506b0de3f2056f29506b0debf575e46dcd914ec3fbe27d7838503d2\
3f11885b51cfb4ee3f11885b51cfb4eebfbe27d7838503d23f2560ad5b0989ee3fafba38b61f24d33fafba38b61f24d3bf2560ad5b0989ee3fd910fa5c0ca6dd3f5af8fe59ef5bec3f5af8fe59ef5bec\
bfd910fa5c0ca6dd3fa11b48e7668ce83fff9160300387e43fff9160300387e4bfa11b48e7668ce83f29b1793e1bbfb63f0733f72299dfef3f0733f72299dfefbf29b1793e1bbfb63fed31e11416f2ef\
3fc98e80f906d4ad3fc98e80f906d4adbfed31e11416f2ef3ffc9d15f54f45e53f8636b0873fe8e73f8636b0873fe8e7bffc9d15f54f45e53fa0dec220eeccec3fd9c0ff1715e5db3fd9c0ff1715e5db\
bfa0dec220eeccec3f487019dc6301d53f85ce75ec333aee3f85ce75ec333aeebf487019dc6301d53fc0a31ce5d6f7ee3fd2fdb906181fd03fd2fdb906181fd0bfc0a31ce5d6f7ee3f96bded55ae32e0\
3f5e15d91ffa98eb3f5e15d91ffa98ebbf96bded55ae32e03f947545f1ae86e93fe14dc152524ce33fe14dc152524ce3bf947545f1ae86e93fe724be40899dc13f4dd581c60db2ef3f4dd581c60db2ef\
bfe724be40899dc13f29defb7ced9bef3f9348db572ff2c33f9348db572ff2c3bf29defb7ced9bef3fb89b4ed333d3e23f7224b4ed82e0e93f7224b4ed82e0e9bfb89b4ed333d3e23f2579de09744beb\
3fec858f8705b4e03fec858f8705b4e0bf2579de09744beb3f9a09013f16f5cd3f084728be7a1cef3f084728be7a1cefbf9a09013f16f5cd3f540f28d96607ee3f02c2885c591dd63f02c2885c591dd6\
bf540f28d96607ee3f09dc5c1273d4da3fb9d2592f670ded3fb9d2592f670dedbf09dc5c1273d4da3f5bb3901bfb82e73f48744f260bb5e53f48744f260bb5e5bf5bb3901bfb82e73f7961f86f396aa4\
3f14c008427cf9ef3f14c008427cf9efbf7961f86f396aa43faefd25e455fbef3f7fc142db8546a13f7fc142db8546a1bfaefd25e455fbef3f5c343ee7ded9e53f6447302cc560e73f6447302cc560e7\
bf5c343ee7ded9e53fe1a4e5c65522ed3f1bf3dbd30c79da3f1bf3dbd30c79dabfe1a4e5c65522ed3fcb63ad9c947bd63f9ca59b6ae3f5ed3f9ca59b6ae3f5edbfcb63ad9c947bd63fce0946fc1728ef\
3feebd2c4d7731cd3feebd2c4d7731cdbfce0946fc1728ef3fb6c44bb8d0dee03ff37bf3a51531eb3ff37bf3a51531ebbfb6c44bb8d0dee03fde4931f1f4fde93f58eb7ae876aae23f58eb7ae876aae2\
bfde4931f1f4fde93f88fa797fb1b8c43f08ac854ff193ef3f08ac854ff193efbf88fa797fb1b8c43fb7ad668dd1b8ef3f8667b2bc4dd6c03f8667b2bc4dd6c0bfb7ad668dd1b8ef3f8d7f811b5374e3\
3fe17fbd423f68e93fe17fbd423f68e9bf8d7f811b5374e33f0dc4b6a049b2eb3fe1822bc84007e03fe1822bc84007e0bf0dc4b6a049b2eb3f1e66eb054e80d03f44a5504c07ebee3f44a5504c07ebee\
bf1e66eb054e80d03f5ece81ff8d4aee3ff3821bd153a2d43ff3821bd153a2d4bf5ece81ff8d4aee3f293126476d3fdc3f99da000ae2b6ec3f99da000ae2b6ecbf293126476d3fdc3ffa526e758b09e8\
3fa69ad91ca81fe53fa69ad91ca81fe5bffa526e758b09e83f6430464e617bb03f9161820201efef3f9161820201efefbf6430464e617bb03f86d8e92be9e3ef3f0a4d4d4a772eb53f0a4d4d4a772eb5\
bf86d8e92be9e3ef3ff122675179ade43f95a19a1d0a6ce83f95a19a1d0a6ce8bff122675179ade43fd7aa9e891573ec3f9d60a82bd04cdd3f9d60a82bd04cddbfd7aa9e891573ec3fabb653e3f583d3\
3f5a16a529db79ee3f5a16a529db79eebfabb653e3f583d33fb2f61a4bcfc2ee3f43f2e8fbf7a2d13f43f2e8fbf7a2d1bfb2f61a4bcfc2ee3ffef7bf061908df3f47b1a1259dfceb3f47b1a1259dfceb\
bffef7bf061908df3ffe5e5743790be93f8006beea33ebe33f8006beea33ebe3bffe5e5743790be93fc17d303b53ffbc3f5443910347cbef3f5443910347cbefbfc17d303b53ffbc3f2a321a9c297aef\
3fffc4088dfd0ac73fffc4088dfd0ac7bf2a321a9c297aef3fe2132c662d2fe23f23f59010c954ea3f23f59010c954eabfe2132c662d2fe23fefec45f368e0ea3fbce2dbe4365ee13fbce2dbe4365ee1\
bfefec45f368e0ea3fabb9f3d5f1e4ca3fb4abbc062249ef3fb4abbc062249efbfabb9f3d5f1e4ca3f9a7595439ebfed3faedf13e6f594d73faedf13e6f594d7bf9a7595439ebfed3f8f94abb75565d9\
3f7f8a8872715fed3f7f8a8872715fedbf8f94abb75565d93f755bc999caf8e63f5b537f431547e63f5b537f431547e6bf755bc999caf8e63fcb97b96a296a8f3fd13bc54309ffef3fd13bc54309ffef\
bfcb97b96a296a8f3f77cb70681cfeef3f26b2fa214dfd953f26b2fa214dfd95bf77cb70681cfeef3fff22ec4fe422e63fbf410e96ac1be73fbf410e96ac1be7bfff22ec4fe422e63f2475181b5b4bed\
3ff2f90d447dc1d93ff2f90d447dc1d9bf2475181b5b4bed3f921026c96337d73f5a918af3fed1ed3f5a918af3fed1edbf921026c96337d73f65bc1bbc6b3eef3fad5df13463a9cb3fad5df13463a9cb\
bf65bc1bbc6b3eef3f4f25eecfe933e13fb6579fd88ffbea3fb6579fd88ffbeabf4f25eecfe933e13fc63b594a1838ea3f1071bb4c7358e23f1071bb4c7358e2bfc63b594a1838ea3f0d831d831a45c6\
3f0cc6404a0f83ef3f0cc6404a0f83efbf0d831d831a45c63ff69a7d3b6ec5ef3f3faae4fdb78ebe3f3faae4fdb78ebebff69a7d3b6ec5ef3f18c58149c4c3e33f15a8c51fa42ae93f15a8c51fa42ae9\
bf18c58149c4c3e33fc15411611be4eb3fa3cd56e6de5fdf3fa3cd56e6de5fdfbfc15411611be4eb3f7893c6ef3e42d13f0990995e83d0ee3f0990995e83d0eebf7893c6ef3e42d13fa7535dc5616aee\
3f71c26ee99be3d33f71c26ee99be3d3bfa7535dc5616aee3f21cde1ae4bf3dc3f139c0287f589ec3f139c0287f589ecbf21cde1ae4bf3dc3ffa83af11714be83f7f9f586dbcd3e43f7f9f586dbcd3e4\
bffa83af11714be83f99a2c5129f9db33f602d4885eae7ef3f602d4885eae7efbf99a2c5129f9db33f0f4130259debef3f4d44ed74960cb23f4d44ed74960cb2bf0f4130259debef3f86a4cc25ccf9e4\
3fff45f5139c2ae83fff45f5139c2ae8bf86a4cc25ccf9e43f49c4b9198fa0ec3f895386c37f99dc3f895386c37f99dcbf49c4b9198fa0ec3ff03689dc1043d43fd36704559d5aee3fd36704559d5aee\
bff03689dc1043d43f5186076aebddee3fce49174e5be1d03fce49174e5be1d0bf5186076aebddee3fded2245c57b7df3f27230dcb54cbeb3f27230dcb54cbebbfded2245c57b7df3f6c4aace39049e9\
3f2930d6e3239ce33f2930d6e3239ce3bf6c4aace39049e93f5bb86fade80ec03f888d0a0f47bfef3f888d0a0f47bfefbf5bb86fade80ec03f784bcb37a78bef3fdecb5486007fc53fdecb5486007fc5\
bf784bcb37a78bef3fba3c4def8b81e23f5ea7c0d2261bea3f5ea7c0d2261beabfba3c4def8b81e23ff5a24c2a7416eb3f57a9d0487209e13f57a9d0487209e1bff5a24c2a7416eb3fdd745d53906dcc\
3ff0ae3a5a6833ef3ff0ae3a5a6833efbfdd745d53906dcc3f818d6d0f16e4ed3fb60c8a6398d9d63fb60c8a6398d9d6bf818d6d0f16e4ed3fc00ab543651dda3fdcfbcb7bfc36ed3fdcfbcb7bfc36ed\
bfc00ab543651dda3f4299078e553ee73f106ae5bd7cfee53f106ae5bd7cfee5bf4299078e553ee73f1d3be54c4f459c3f79a6e29ce0fcef3f79a6e29ce0fcefbf1d3be54c4f459c3f64911bbb53f7ef\
3f864687a5ba8da73f864687a5ba8da7bf64911bbb53f7ef3fdf23f7d50190e53fd297bf07f7a4e73fd297bf07f7a4e7bfdf23f7d50190e53f7b46cee830f8ec3f7219b31d972fdb3f7219b31d972fdb\
bf7b46cee830f8ec3fb6b39d8be7bed53fd966dc2fa018ee3fd966dc2fa018eebfb6b39d8be7bed53f5f8f89bc9010ef3f48e32d466bb8ce3f48e32d466bb8cebf5f8f89bc9010ef3f8cb032201189e0\
3f47bcfd148f65eb3f47bcfd148f65ebbf8cb032201189e03fc275f010d1c2e93f1510444bc2fbe23f1510444bc2fbe2bfc275f010d1c2e93fa71645f97b2bc33f91177aac9ba3ef3f91177aac9ba3ef\
bfa71645f97b2bc33fdcfd0ccbfbaaef3f0934fd4d9964c23f0934fd4d9964c2bfdcfd0ccbfbaaef3f1fa649ec2124e33fb2062ba4dfa4e93fb2062ba4dfa4e9bf1fa649ec2124e33fe992e786667feb\
3fb7b831ecf35de03fb7b831ecf35de0bfe992e786667feb3f0238bd80747bcf3f8c73cf145a04ef3f8c73cf145a04efbf0238bd80747bcf3f7a1939448f29ee3fb467f4124060d53fb467f4124060d5\
bf7a1939448f29ee3f9356fd14788adb3f60a09927b3e2ec3f60a09927b3e2ecbf9356fd14788adb3f33d3e29cb8c6e73f9f649751c36ae53f9f649751c36ae5bf33d3e29cb8c6e73f17835fbd01b1aa\
3fd3beb154dcf4ef3fd3beb154dcf4efbf17835fbd01b1aa3f8c531475fadaef3fa130c112874fb83fa130c112874fb8bf8c531475fadaef3fa2322b695a60e43f881dde1e87ace83f881dde1e87ace8\
bfa2322b695a60e43f04c041318344ec3fde41a966fffedd3fde41a966fffeddbf04c041318344ec3f2045954e1ac4d23f306b0136ec97ee3f306b0136ec97eebf2045954e1ac4d23f0058e69383a6ee\
3fba545599e663d23fba545599e663d2bf0058e69383a6ee3f25d83c6da857de3ff1e33149d12cec3ff1e33149d12cecbf25d83c6da857de3f554618756acce83f80432a5b7f39e43f80432a5b7f39e4\
bf554618756acce83f5ca824ebb6dfb93f9e5ca72d0dd6ef3f9e5ca72d0dd6efbf5ca824ebb6dfb93fee3c88567567ef3f0418c4271796c83f0418c4271796c8bfee3c88567567ef3f7248dc641bdce1\
3fd25a546e678dea3fd25a546e678deabf7248dc641bdce13f8eb92c7a54a9ea3fbf73131750b2e13fbf73131750b2e1bf8eb92c7a54a9ea3ffa2ab6e9495bc93f5d6843eda65def3f5d6843eda65def\
bffa2ab6e9495bc93f463d8bdd009aed3f3f90f3aa6a4fd83f3f90f3aa6a4fd8bf463d8bdd009aed3f44edd5864bacd83f4fa44584c486ed3f4fa44584c486edbf44edd5864bacd83f9ce22fed5cb2e6\
3f719ca1ead18ee63f719ca1ead18ee6bf9ce22fed5cb2e63fbaa4ccbef821693f021d6221f6ffef3f021d6221f6ffefbfbaa4ccbef821693f")),t=Fs(lr(Float64Array.from(e)));if(gt(Le(t))!==
"f45a496cf56ccc6e3e3395a20209206d81d71a7905a661447bd5bc0e24e0af1e")throw new Error("COMPLEX_ROOTS mismatch");return e})(),cn={mul(e,t){let n=Math.imul(e,t),r=Math.
imul(qe,Math.imul(n,zs)&65535);return n=(n+r>>>16)-qe,n+=qe&n>>31,n>>>0},inv(e){if(e===0)throw new Error("divison by zero");let t=this.mul(e,Jf),n=this.mul(t,t),
r=this.mul(n,t),f=this.mul(r,n),o=this.mul(f,f),c=this.mul(o,o),s=this.mul(c,c),i=this.mul(s,s),h=this.mul(i,i),E=this.mul(h,r),g=this.mul(E,h),A=this.mul(g,g),
_=this.mul(A,A),S=this.mul(_,E),U=this.mul(S,S),F=this.mul(U,U),j=this.mul(F,g),J=this.mul(j,j);return this.mul(J,t)},div:(e,t)=>cn.mul(e,cn.inv(t))};function Zs(e){
let t=1<<e,n=g=>new Uint16Array(g),r=Number(br(BigInt(t),xr)),{mod:f,smod:o,NTT:c}=Rn({N:t,Q:qe,F:r,ROOT_OF_UNITY:7,newPoly:n,isKyber:!1,brvBits:10});return{newPoly:n,
intPoly:{create:n,smallSqnorm(g){let A=0,_=0;for(let S=0;S<t;S++){let U=g[S];A=A+U*U>>>0,_|=A}return(A|-(_>>>31))>>>0},isShort(g,A){let _=0,S=0;for(let U=0;U<t;U++){
let F=g[U]<<16>>16;_=_+(F*F>>>0)>>>0,S|=_;let j=A[U]<<16>>16;_=_+(j*j>>>0)>>>0,S|=_}return S&2147483648&&(_=4294967295),_<=Qf[e]},sub(g,A){for(let _=0;_<t;_++)g[_]=
f(g[_]-A[_]);return g},ntt:g=>c.encode(g),intt:g=>c.decode(g),toMontgomery(g){for(let A=0;A<t;A++)g[A]=cn.mul(g[A],Jf);return g},mul(g,A){for(let _=0;_<t;_++)g[_]=
cn.mul(g[_],A[_]);return g},div(g,A){for(let _=0;_<t;_++)g[_]=cn.div(g[_],A[_]);return this.intt(g),g}},signedCoder:{encode:g=>Int16Array.from(g,A=>o(A)),decode:g=>Uint16Array.
from(g,A=>f(A))}}}var X=Rs({ZERO:0,ONE:1,add:(e,t)=>e+t,sub:(e,t)=>e-t,mul:(e,t)=>e*t,div:(e,t)=>e/t,eql:(e,t)=>e===t,inv:e=>1/e,neg:e=>-e}),sn=Is.decode(Js),eo={},
to={};for(let e=0;e<10;e++){let t=new Array(1<<e),n=new Array(1<<e);for(let r=0,f=1,o=1;r<e;r++){let c=1<<r;for(let i=0;i<c;i++)t[f++]=sn[(c<<1)+i];let s=1<<e-r;
for(let i=0;i<s>>1;i++)n[t.length-o++]=X.neg(X.conj(sn[s+i]))}eo[e]=t,to[e]=n}function Xf(e){let n=1<<e>>1,r=Math.log2(n),f={N:n,invertButterflies:!0,skipStages:0,
brp:!1},o=1/n;return{to:c=>pr.decode(Array.from(c)),from:c=>new Float64Array(pr.encode(c)),convSmall:c=>pr.decode(Array.from(c)),add:(c,s)=>c.map((i,h)=>X.add(i,
s[h])),sub:(c,s)=>c.map((i,h)=>X.sub(i,s[h])),neg:c=>c.map(s=>X.neg(s)),mul:(c,s)=>c.map((i,h)=>X.mul(i,s[h])),conj:c=>c.map(s=>X.conj(s)),mulConst:(c,s)=>c.map(
i=>X.scale(i,s)),scaleNorm:(c,s)=>c.map((i,h)=>X.scale(i,s[h])),invNorm:(c,s)=>new Float64Array(c.map((i,h)=>1/X.magSqSum(i,s[h]))),FFT:c=>Dt(X,{...f,dit:!1,roots:eo[r]})(
c),iFFT(c){Dt(X,{...f,dit:!0,roots:to[r]})(c);for(let s=0;s<c.length;s++)c[s]=X.scale(c[s],o);return c}}}function Qs(e,t,n,r){t=t.slice(),n=n.slice(),r=r.slice();
let f=1<<e-1;for(let o=0;o<f;o++){let c=n[o],s=r[o],i=X.scale(c,1/t[o].re);r[o]={re:s.re-(i.re*c.re+i.im*c.im),im:s.im},n[o]=X.conj(i)}return{g00:t,g01:n,g11:r}}
function ea(e,t){let n=[.9999999999999949,.5000000000000192,.16666666666698401,.04166666666611049,.008333333327800835,.001388888894063187,.0001984127392773119,2480156683358538e-20,
27555863502191225e-22,2756073561604778e-22,2529950637944207e-23,2073772366009083e-24],r=-e,f=n[n.length-1];for(let o=n.length-2;o>=0;o--)f=f*r+n[o];return t*(1+
f*r)}function ta(e){let{N:t}=e,n=Math.log2(t),r=x=>x,{newPoly:f,intPoly:o,signedCoder:c}=Zs(n),s=Xf(n);class i{logn;shake;constructor(u,a){this.logn=u,this.shake=
Le.create().update(a)}gaussSingle(){let u=1<<10-this.logn,a=0;for(let d=0;d<u;d++){let b=Ff(this.shake.xof(16)),l=b&Gf,y=b>>Ks&Gf,p=Number(b>>Ds&gr),w=l<wr[0]?1:
0,m=0;for(let T=1;T<wr.length;T++){let v=y>=wr[T]?1:0;m|=T&-(v&(w^1)),w|=v}a+=p===1?-m:m}return a}polyGauss(){let u=1<<this.logn,a=0,d=new Int8Array(u);for(let b=0;b<
u;b++){let l;for(;l=this.gaussSingle(),!(!(l<-127||l>127)&&!(b===u-1&&(a^l&1)===0)););b<u-1&&(a^=l&1),d[b]=l}return d}galoisNorm(u,a){let d=1<<u,b=new Array(d>>
1);for(let l=0;l<d;l+=2){let y=ft;for(let p=0;p<=l;p+=2)y+=a[p]*a[l-p];for(let p=l+2;p<d;p+=2)y-=a[p]*a[l+d-p];b[l>>>1]=y}for(let l=0;l<d;l+=2){let y=ft;for(let p=1;p<
l;p+=2)y+=a[p]*a[l-p];for(let p=l+1;p<d;p+=2)y-=a[p]*a[l+d-p];b[l>>>1]-=y}return b}mulConjD(u,a,d,b){let l=1<<u;for(let y=0;y<l;y++){let p=ft;for(let w=0;w<=y;w+=
2)p+=b[w>>>1]*d[y-w];for(let w=y+2-(y&1);w<l;w+=2)p-=b[w>>>1]*d[y+l-w];(y&1)===0?a[y]=p:a[y]=-p}return a}subMul(u,a,d,b,l){let y=1<<u;for(let p=0;p<y;p++){let w=ft;
for(let m=0;m<=p;m++)w+=d[m]*b[p-m];for(let m=p+1;m<y;m++)w-=d[m]*b[p+y-m];a[p]-=w<<l}return a}reduce(u,a,d,b,l,y){let p=1<<u,w=y-u,m=Xf(u),T=Vs[w],v=Ws[w],O=BigInt(
31*v),I=BigInt(v),D=BigInt(31*(T-10)),N=In[w].avg+6*In[w].std,B=In[w].avg-6*In[w].std,Z=BigInt(Math.round(31*v-B)),K=new Float64Array(p),W=new Float64Array(p);for(let te=0;te<
p;te++)K[te]=Number(a[te]>>D),W[te]=Number(d[te]>>D);let G=m.conj(m.FFT(m.to(K))),fe=m.conj(m.FFT(m.to(W))),le=m.invNorm(G,fe),ie=new Float64Array(p),ae=new Float64Array(
p),Q=new Array(p);for(;;){let te=mr*(I-Wf);for(let Be=0;Be<p;Be++)ie[Be]=Number(b[Be]>>te),ae[Be]=Number(l[Be]>>te);let ce=m.mul(m.FFT(m.to(ae)),fe),ke=m.mul(m.
FFT(m.to(ie)),G),ee=m.from(m.iFFT(m.scaleNorm(m.add(ce,ke),le))),ge=2**Number(te-D-Z);for(let Be=0;Be<p;Be++){let ht=ee[Be]*ge;if(ht<=-2147483647||ht>=2147483647)
return!1;Q[Be]=BigInt(Math.round(ht))}b=this.subMul(u,b,a,Q,Z),l=this.subMul(u,l,d,Q,Z);let Ue=Z+BigInt(Math.round(N))+Wf;if(Ue<O&&(O=Ue),I>gr&&I*mr>=O+mr&&I--,
Z<=ft)break;Z-=js,Z<ft&&(Z=ft)}return!0}solveBranch(u,a,d,b,l,y){if(u===0){let I=a[0],D=d[0];if(I<=ft||D<=ft)return!1;try{let N=br(I,D),B=(gr-N*I)/D;return b[0]=
-B*xr,l[0]=N*xr,!0}catch{return!1}}y===void 0&&(y=u);let p=1<<u,w=p>>>1;if(!a||a.length<p||!d||d.length<p)return!1;let m=this.galoisNorm(u,a),T=this.galoisNorm(
u,d),v=new Array(w),O=new Array(w);return this.solveBranch(u-1,m,T,v,O,y)?(b=this.mulConjD(u,b,d,v),l=this.mulConjD(u,l,a,O),this.reduce(u,a,d,b,l,y)):!1}solve(u,a){
let d=1<<n,b=Array.from(u).map(BigInt),l=Array.from(a).map(BigInt),y=new Array(d),p=new Array(d);if(!this.solveBranch(n,b,l,y,p))return!1;let w=new Int8Array(d),
m=new Int8Array(d);for(let T=0;T<d;T++){let v=y[T],O=p[T];if(v<-127||v>127||O<-127||O>127)return!1;w[T]=Number(v),m[T]=Number(O)}return[w,m]}generate(){let u=1e6,
a=0;for(;;){if(a++===u)throw new Error("can't generate key");let d=this.polyGauss(),b=this.polyGauss(),l=1<<e.fgBits-1;for(let N=0;N<t;N++)if(d[N]>=l||d[N]<=-l||
b[N]>=l||b[N]<=-l){l=-1;break}if(l<0)continue;let y=o.smallSqnorm(d),p=o.smallSqnorm(b);if((y+p|-((y|p)>>>31))>=16823)continue;let m=s.FFT(s.convSmall(d)),T=s.FFT(
s.convSmall(b)),v=s.invNorm(m,T);m=s.iFFT(s.scaleNorm(s.mulConst(s.conj(m),qe),v)),T=s.iFFT(s.scaleNorm(s.mulConst(s.conj(T),qe),v));let O=0;for(let N=0;N<m.length;N++)
O+=m[N].re*m[N].re,O+=T[N].re*T[N].re;for(let N=0;N<m.length;N++)O+=m[N].im*m[N].im,O+=T[N].im*T[N].im;if(!(O<Gs))continue;let I;try{I=H(d,b)}catch{continue}let D=this.
solve(d,b);if(D!==!1)return[d,b,D[0],D[1],I]}}}let h=()=>{let x=qf(f,t,14,{encode:r,decode:r});return{bytesLen:x.bytesLen,encode(u){for(let a=0;a<u.length;a++)if(u[a]>=
12289)throw new Error("public key coeff out of range");return x.encode(u)},decode(u){if(u.length!==x.bytesLen)throw new Error("wrong public key length");let a=x.
decode(u);for(let b=0;b<a.length;b++)if(a[b]>=12289)throw new Error("public key coeff out of range");let d=x.encode(a);if(d.length!==u.length)throw new Error("w\
rong public key length");for(let b=0;b<u.length;b++)if(u[b]!==d[b])throw new Error("wrong public key encoding");return a}}},E=x=>{let u=32-x,a=qf(d=>new Int8Array(
d),t,x,{encode:d=>d&(1<<x)-1,decode:d=>(d&Ze(x))<<u>>u});return{bytesLen:a.bytesLen,encode(d){let b=(1<<x-1)-1,l=-b;for(let y=0;y<d.length;y++)if(d[y]<l||d[y]>b)
throw new Error("private key coeff out of range");return a.encode(d)},decode(d){let b=a.decode(d),l=-(1<<x-1);for(let y=0;y<b.length;y++)if(b[y]===l)throw new Error(
"forbidden private key coeff");return b}}},g=E(e.fgBits),A=E(e.FGBits),_=qt(80+n,ve("falcon.secretKey",g,g,A)),S=qt(0+n,h()),U=x=>{let u=Vt(t).encode(Vt(t).decode(
x));for(let a=u.length;a<x.length;a++)if(x[a]!==0)throw new Error("non-zero padding");return u},F=x=>{if(Vt(t).encode(Vt(t).decode(x)).length!==x.length)throw new Error(
"wrong signature length");return x},j=e.padded?U:F,J=x=>{let u=32+x;return{encode({msg:a,nonce:d,s2:b}){let l=b,y=1+l.length,p=2+Ie+a.length+y,w=new Uint8Array(
p),m=0;return w[m++]=y>>8&255,w[m++]=y&255,w.set(d,m),m+=Ie,w.set(a,m),m+=a.length,w[m++]=u,w.set(l,m),w},decode(a){if(!a||a.length<Ie+3)throw new Error("signat\
ure coder: wrong length");let b=(a[0]<<8|a[1])-1,l=a.length-Ie-3-b;if(l<0)throw new Error("signature coder: wrong msg length");if(a[2+Ie+l]!==u)throw new Error(
"signature coder: wrong type byte");let p=a.subarray(2,2+Ie),w=a.subarray(2+Ie,2+Ie+l),m=F(a.subarray(2+Ie+l+1));if(m.length!==b)throw new Error("signature code\
r: wrong s2 length");return{msg:w,nonce:p,s2:m}}}},R=x=>{let u=e.paddedLen;return{encode({msg:a,nonce:d,s2:b}){return qt(48+x,ve("falcon.signature",Ie,u,a.length)).
encode([d,Vf(u).encode(b),a])},decode(a){z(a,void 0,"signature");let d=a.length-Ie-u-1;if(d<0)throw new Error("signature coder: wrong length");let[b,l,y]=qt(48+
x,ve("falcon.signature",Ie,u,d)).decode(a);return{nonce:b,s2:j(l),msg:y}}}},M=x=>{let u=e.sigLen-1-Ie,a=d=>e.padded?u:d.length;return{encode({nonce:d,s2:b}){return qt(
48+x,ve("falcon.detachedSignature",Ie,a(b))).encode([d,e.padded?Vf(u).encode(b):b])},decode(d){if(!e.padded&&d.length>1+Ie+e.maxS2Len)throw new Error("detached \
signature too long");let b=e.padded?u:d.length-Ie-1,[l,y]=qt(48+x,ve("falcon.detachedSignature",Ie,b)).decode(d),p=j(y);return{nonce:l,s2:p}}}},C=(e.padded?R:J)(
n),P=x=>{let u=o.ntt(c.decode(x));for(let a=0;a<t;a++)if(u[a]===0)throw new Error("invalid secretKey: non-invertible f");return u};function H(x,u){let a=P(x),d=o.
ntt(c.decode(u)),b=o.div(d,a);return V(a),b}function $(x,u,a){let d=o.toMontgomery(o.ntt(c.decode(u))),b=o.ntt(c.decode(a)),l=P(x);d=o.div(o.mul(d,b),l);let y=new Int8Array(
t);for(let p=0;p<t;p++){let w=d[p];w-=qe&~-(w-Hs>>>31);let m=w|0;if(m<-127||m>127)throw V(d,b,l,y),new Error("Coefficient out of bounds");y[p]=m}return V(d,b,l),
y}function L(x,u){let a=Le.create().update(x).update(u),d=new Uint16Array(t),b=5*qe;for(let l=0;l<t;){let y=a.xof(2),p=y[0]<<8|y[1];p<b&&(d[l++]=p%qe)}return d}
class q{logn;shake;shakeBuf;ctrView;ctr=ft;buf;buf32;pos;key;nonce32;curBlock;curBlock32;view;b01;b11;g00;g01;g11;constructor(u,a,d,b,l,y){this.logn=u,this.shake=
Le.create().update(a),this.shakeBuf=new Uint8Array(56),this.key=this.shakeBuf.subarray(0,32),this.nonce32=Lt(this.shakeBuf.subarray(32,48)),this.ctrView=it(this.
shakeBuf.subarray(48,56)),this.curBlock=new Uint8Array(64),this.curBlock32=Lt(this.curBlock),this.buf=new Uint8Array(8*this.curBlock.length),this.buf32=Lt(this.
buf),this.pos=this.buf.length,this.view=it(this.buf),this.b01=b,this.b11=y;let{g00:p,g01:w,g11:m}=this.gramFFT(d,l);this.g00=p,this.g01=w,this.g11=m}destroy(){this.
shake.destroy(),V(this.shakeBuf,this.curBlock,this.buf),yr(this.b01,this.b11,this.g00,this.g01,this.g11)}refill(u){if(this.buf.length-this.pos>=u)return;let a=et(
this.buf32);for(let d=0;d<8;d++,this.ctr++){let b=et(this.nonce32.slice());b[2]^=Number(this.ctr&$s),b[3]^=Number(this.ctr>>Ps),et(b.subarray(1)),Lf(this.key,of(
b.subarray(1)),Cs,this.curBlock,b[0]);let l=et(this.curBlock32);for(let y=0;y<16;y++)a[d+y*8]=l[y];et(l)}et(a),this.pos=0}gaussian0(){this.refill(9);let u=this.
view.getUint32(this.pos,!0),a=this.view.getUint32(this.pos+4,!0),d=this.buf[this.pos+8];this.pos+=9;let b=u&16777215,l=u>>>24&255|(a&65535)<<8,y=a>>>16&65535|d<<
16,p=0;for(let w=0;w<Fn.length;w+=3){let m=b-Fn[w+2]>>>31;m=(l-Fn[w+1]|0)-m>>>31,m=(y-Fn[w+0]|0)-m>>>31,p+=m}return p}berExp(u,a){let d=Math.trunc(u*1.4426950408889634),
b=u-d*.6931471805599453,l=ea(b,a);l*=2147483648;let y=l|0;l=(l-y)*4294967296;let p=l|0;y=y<<1|p>>>31,p<<=1,d=(d|63-d>>>26)&63;let w=-(d>>>5)|0;p^=w&(p^y),y&=~w,
d&=31,p=p>>>d|y<<31-d<<1,y>>>=d;for(let m=0;m<2;m++){for(let T=24;T>=0;T-=8){this.refill(1);let v=this.buf[this.pos++],O=y>>>T&255;if(v!==O)return v<O}y=p}return!1}samplerZ(u,a){
let d=Math.floor(u),b=u-d,l=a*a*.5,y=a*Yf[this.logn];for(;;){let p=this.gaussian0();this.refill(1);let w=this.buf[this.pos++]&1,m=((p<<1)+1&-w)-p,T=m-b;if(T=T*T*
l-p*p*.15086504887537272,this.berExp(T,y))return d+m}}splitFFT(u,a){let d=1<<u-1,b=d>>1;if(u===1)return{f0:[{re:a[0].re,im:0}],f1:[{re:a[0].im,im:0}]};let l=new Array(
b),y=new Array(b),p=a;for(let w=0;w<b;w++){let m=p[(w<<1)+0],T=p[(w<<1)+1];l[w]=X.scale(X.add(m,T),.5),y[w]=X.scale(X.mul(X.sub(m,T),X.conj(sn[w+d])),.5)}return{
f0:l,f1:y}}splitSelfAdjFFT(u,a){let d=1<<u-1,b=d>>1;if(u===1)return{f0:[{re:a[0].re,im:0}],f1:[{re:0,im:0}]};let l=new Array(b),y=new Array(b),p=a;for(let w=0;w<
b;w++){let m=p[(w<<1)+0],T=p[(w<<1)+1];l[w]=X.scale(X.add(m,T),.5),y[w]=X.scale(X.scale(X.conj(sn[w+d]),X.sub(m,T).re),.5)}return{f0:l,f1:y}}mergeFFT(u,a,d){let b=1<<
u-1,l=b>>1;if(u===1)return[{re:a[0].re,im:d[0].re}];let y=new Array(2*l);for(let p=0;p<l;p++){let w=a[p],m=X.mul(d[p],sn[p+b]);y[(p<<1)+0]=X.add(w,m),y[(p<<1)+1]=
X.sub(w,m)}return y}gramFFT(u,a){let{b01:d,b11:b}=this,l=1<<this.logn>>1,y=new Array(l),p=new Array(l),w=new Array(l);for(let m=0;m<l;m++){let T=u[m],v=d[m],O=a[m],
I=b[m],D=X.mul(T,X.conj(O)),N=X.mul(v,X.conj(I));y[m]={re:X.magSqSum(T,v),im:0},p[m]=X.add(D,N),w[m]={re:X.magSqSum(O,I),im:0}}return{g00:y,g01:p,g11:w}}ffsampRec(u,a,d,b,l,y){
if(u===0){let Q=Math.sqrt(b[0].re)*Ys[this.logn],te=1/Q;if(!(te>=Yf[this.logn]&&te<=Xs))throw new Error("invalid secretKey: sampler sigma out of range");let ce=this.
samplerZ(a[0].re,Q),ke=this.samplerZ(d[0].re,Q);return{t0:[{re:ce,im:0}],t1:[{re:ke,im:0}]}}let{g00:p,g01:w,g11:m}=Qs(u,b,l,y),{f0:T,f1:v}=this.splitSelfAdjFFT(
u,p),{f0:O,f1:I}=this.splitSelfAdjFFT(u,m),{f0:D,f1:N}=this.splitFFT(u,d),{t0:B,t1:Z}=this.ffsampRec(u-1,D,N,O,I,O),K=this.mergeFFT(u,B,Z),W=s.add(a,s.mul(w,s.sub(
d,K))),{f0:G,f1:fe}=this.splitFFT(u,W),{t0:le,t1:ie}=this.ffsampRec(u-1,G,fe,T,v,T);return{t0:this.mergeFFT(u,le,ie),t1:K}}sample(u){let a=s.FFT(s.convSmall(u)),
d=s.mulConst(s.mul(a,this.b11),Zf),b=s.mulConst(s.mul(a,this.b01),qs);return this.shake.xofInto(this.shakeBuf),this.ctr=this.ctrView.getBigUint64(0,!0),this.ffsampRec(
this.logn,d,b,this.g00,this.g01,this.g11)}}let Y=(x,u,a,d=vt)=>{z(u,void 0,"msg"),z(x,_.bytesLen,"secretKey");let b=d(40);z(b,40,"nonce");let l=L(b,u),y=d(48);z(
y,48,"seed");try{let[p,w,m]=_.decode(x);try{let T=$(p,w,m),v=s.FFT(s.convSmall(w)),O=s.FFT(s.neg(s.convSmall(p))),I=s.FFT(s.convSmall(T)),D=s.FFT(s.neg(s.convSmall(
m))),N=new q(n,y,v,O,I,D),B=new Int16Array(t);try{for(;;){let{t0:Z,t1:K}=N.sample(l),W=s.add(s.mul(Z,v),s.mul(K,I)),G=s.mul(Z,O),fe=s.iFFT(W),le=s.iFFT(s.add(s.
mul(K,D),G)),ie=t>>1,ae=0;for(let te=0;te<ie;te++){ae+=(l[te]-(Math.round(fe[te].re)|0))**2,ae+=(l[ie+te]-(Math.round(fe[te].im)|0))**2;let ce=-Math.round(le[te].
re);ae+=ce*ce,B[te]=ce&65535;let ke=-Math.round(le[te].im);ae+=ke*ke,B[te+ie]=ke&65535}if(yr(Z,K,W,G,fe,le),!(ae<=Qf[n]))continue;let Q=Vt(t).encode(B);if(Q.length>
a){V(Q);continue}return{s2:Q,nonce:b,msg:u}}}finally{V(B),N.destroy(),yr(v,O,I,D),V(T)}}finally{V(p,w,m)}}finally{V(y)}},re=(x,u,a,d)=>{let b=Vt(t).decode(u),l=L(
a,d),y=o.toMontgomery(o.ntt(S.decode(x))),p=o.intt(o.mul(o.ntt(c.decode(b)),y));return o.sub(p,l),o.isShort(c.encode(p),b)},be=Object.freeze({type:"falcon"}),me=Object.
freeze({seed:48,publicKey:S.bytesLen,secretKey:_.bytesLen}),pe=[...hr,"random"],ue=(x={})=>{if(x=nt(x,pe),x.context!==void 0)throw new Error("context is not sup\
ported");if(x.random!==void 0&&typeof x.random!="function")throw new TypeError('"opts.random" expected function, got type='+typeof x.random);if(x.random!==void 0)
return x.random;if(x.extraEntropy===void 0)return vt;let u=x.extraEntropy===!1?new Uint8Array(48):x.extraEntropy;z(u,48,"opts.extraEntropy");let a=_f(u);return(d=0)=>a.
randomBytes(d)},we=(x={})=>{if(bt(x).context!==void 0)throw new Error("context is not supported")},Se=Object.freeze({publicKeyCoder:Object.freeze(S),privateKeyCoder:Object.
freeze(_),maxS2Len:e.maxS2Len}),xe=Object.freeze({...me,signRand:48}),Ee=e.padded?Object.freeze({...xe,signature:e.sigLen}):xe,Ae=x=>{let u=x===void 0;u&&(x=vt(
48)),z(x,48,"seed");let[a,d,b,l,y]=new i(n,x).generate(),p=_.encode([a,d,b]),w=S.encode(y);return u&&V(x),V(a,d,b,l),{publicKey:w,secretKey:p}},se=x=>{z(x,_.bytesLen,
"secretKey");let[u,a,d]=_.decode(x);try{let b=H(u,a);return V(u,a,d),S.encode(b)}catch(b){throw V(u,a,d),b}},je=(x,u,a={})=>{let{s2:d,nonce:b}=Y(u,x,e.maxS2Len,
ue(a));return M(n).encode({nonce:b,s2:d})},ct=(x,u,a,d={})=>{we(d),z(x,void 0,"signature"),z(u,void 0,"msg"),z(a,void 0,"publicKey");try{let{s2:b,nonce:l}=M(n).
decode(x);return re(a,b,l,u)}catch{return!1}},Ne=Object.freeze({info:be,lengths:xe,keygen:Ae,getPublicKey:se,seal(x,u,a={}){let{s2:d,nonce:b}=Y(u,x,e.maxS2Len,ue(
a));return C.encode({msg:x,nonce:b,s2:d})},open(x,u,a={}){we(a),z(x,void 0,"signature"),z(u,void 0,"publicKey");let d=Ke(x),b=Ke(u);try{let l;try{let{s2:y,nonce:p,
msg:w}=C.decode(d);re(b,y,p,w)&&(l=w)}catch(y){throw new Error("invalid signature",{cause:y})}if(l===void 0)throw new Error("invalid signature");return Ke(l)}finally{
V(d,b)}}}),k={info:be,lengths:Ee,attached:Ne,keygen:Ae,getPublicKey:se,sign:je,verify:ct};return k.__test=Se,Object.freeze(k)}var na={N:512,padded:!1,sigLen:666,
fgBits:6,FGBits:8,paddedLen:625};var no=ta({...na,padded:!0,maxS2Len:625});/*! noble-post-quantum - MIT License (c) 2024 Paul Miller (paulmillr.com) */var ro=Object.freeze(["extraEntropy","externalMu"]),ra=Object.freeze(["externalMu"]);
function fo(e,t){let n=Un(e,t);return n.externalMu!==void 0&&Bf(n.externalMu,"opts.externalMu"),n}var de=256,At=8380417,fa=1753,oa=8347681,It=13,Er=Math.floor((At-
1)/88)|0,Ar=Math.floor((At-1)/32)|0,ca=Object.freeze({2:Object.freeze({K:4,L:4,D:It,GAMMA1:2**17,GAMMA2:Er,TAU:39,ETA:2,OMEGA:80}),3:Object.freeze({K:6,L:5,D:It,
GAMMA1:2**19,GAMMA2:Ar,TAU:49,ETA:4,OMEGA:55}),5:Object.freeze({K:8,L:7,D:It,GAMMA1:2**19,GAMMA2:Ar,TAU:60,ETA:2,OMEGA:75})}),$e=e=>new Int32Array(e),oe=Rn({N:de,
Q:At,F:oa,ROOT_OF_UNITY:fa,newPoly:$e,isKyber:!1,brvBits:8}),oo=e=>e,an=(e,t=oo,n=oo)=>oe.bitsCoder(e,{encode:r=>t(n(r)),decode:r=>n(t(r))}),xt=(e,t)=>{let n=e,
r=t;for(let f=0;f<n.length;f++)n[f]=oe.mod(n[f]+r[f]);return n},co=(e,t)=>{let n=e,r=t;for(let f=0;f<n.length;f++)n[f]=oe.mod(n[f]-r[f]);return n},sa=e=>{let t=e;
for(let n=0;n<de;n++)t[n]<<=It;return t},dn=(e,t)=>{let n=e;for(let r=0;r<de;r++)if(Math.abs(oe.smod(n[r]))>=t)return!0;return!1},Et=(e,t)=>{let n=e,r=t,f=$e(de);
for(let o=0;o<n.length;o++)f[o]=oe.mod(n[o]*r[o]);return f};function Nn(e){let t=e,n=$e(de);for(let r=0;r<de;){let f=t();if(f.length%3)throw new Error("RejNTTPo\
ly: unaligned block");for(let o=0;r<de&&o<=f.length-3;o+=3){let c=(f[o+0]|f[o+1]<<8|f[o+2]<<16)&8388607;c<At&&(n[r++]=c)}}return n}function aa(e){let t=e,{K:n,L:r,
GAMMA1:f,GAMMA2:o,TAU:c,ETA:s,OMEGA:i}=t,{CRH_BYTES:h,TR_BYTES:E,C_TILDE_BYTES:g,XOF128:A,XOF256:_,securityLevel:S}=t;if(![2,4].includes(s))throw new Error("Wro\
ng ETA");if(![1<<17,1<<19].includes(f))throw new Error("Wrong GAMMA1");if(![Er,Ar].includes(o))throw new Error("Wrong GAMMA2");let U=c*s,F=k=>{let x=oe.mod(k),u=oe.
smod(x,2*o)|0;return x-u===At-1?{r1:0,r0:u-1|0}:{r1:Math.floor((x-u)/(2*o))|0,r0:u}},j=k=>F(k).r1,J=k=>F(k).r0,R=(k,x)=>k<=o||k>At-o||k===At-o&&x===0?0:1,M=Math.
floor((At-1)/(2*o)),C=(k,x)=>{let{r1:u,r0:a}=F(x);return k===1?a>0?oe.mod(u+1,M)|0:oe.mod(u-1,M)|0:u|0},P=k=>{let x=oe.mod(k),u=oe.smod(x,2**It)|0;return{r1:Math.
floor((x-u)/2**It)|0,r0:u}},H={bytesLen:i+n,encode:k=>{let x=k;if(x===!1)throw new Error("hint.encode: hint is false");let u=new Uint8Array(i+n);for(let a=0,d=0;a<
n;a++){for(let b=0;b<de;b++)x[a][b]!==0&&(u[d++]=b);u[i+a]=d}return u},decode:k=>{let x=[],u=0;for(let a=0;a<n;a++){let d=$e(de);if(k[i+a]<u||k[i+a]>i)return!1;
for(let b=u;b<k[i+a];b++){if(b>u&&k[b]<=k[b-1])return!1;d[k[b]]=1}u=k[i+a],x.push(d)}for(let a=u;a<i;a++)if(k[a]!==0)return!1;return x}},$=an(s===2?3:4,k=>s-k,k=>{
if(!(-s<=k&&k<=s))throw new Error(`malformed key s1/s3 ${k} outside of ETA range [${-s}, ${s}]`);return k}),L=an(13,k=>(1<<It-1)-k),q=an(10),Y=an(f===1<<17?18:20,
k=>oe.smod(f-k)),re=an(o===Er?6:4),be=rt(re,n),me=ve("publicKey",32,rt(q,n)),pe=ve("secretKey",32,32,E,rt($,r),rt($,n),rt(L,n)),ue=ve("signature",g,rt(Y,r),H),we=s===
2?k=>k<15?2-k%5:!1:k=>k<9?4-k:!1;function Se(k){let x=k,u=$e(de);for(let a=0;a<de;){let d=x();for(let b=0;a<de&&b<d.length;b+=1){let l=we(d[b]&15),y=we(d[b]>>4&
15);l!==!1&&(u[a++]=l),a<de&&y!==!1&&(u[a++]=y)}}return u}let xe=k=>{let x=$e(de),u=Le.create({}).update(k),a=new Uint8Array(Le.blockLen);u.xofInto(a);let d=a.slice(
0,8);for(let b=de-c,l=8,y=0,p=0;b<de;b++){let w=b+1;for(;w>b;)w=a[l++],!(l<Le.blockLen)&&(u.xofInto(a),l=0);x[b]=x[w],x[w]=1-((d[y]>>p++&1)<<1),p>=8&&(y++,p=0)}
return x},Ee=k=>{let x=k,u=$e(de),a=$e(de);for(let d=0;d<x.length;d++){let{r0:b,r1:l}=P(x[d]);u[d]=b,a[d]=l}return{r0:u,r1:a}},Ae=(k,x)=>{let u=k,a=x;for(let d=0;d<
de;d++)u[d]=C(a[d],u[d]);return u},se=(k,x)=>{let u=k,a=x,d=$e(de),b=0;for(let l=0;l<de;l++){let y=R(u[l],a[l]);d[l]=y,b+=y}return{v:d,cnt:b}},je=32,ct=ve("seed",
32,64,32),Ne=Object.freeze({info:Object.freeze({type:"internal-ml-dsa"}),lengths:Object.freeze({secretKey:pe.bytesLen,publicKey:me.bytesLen,seed:32,signature:ue.
bytesLen,signRand:je}),keygen:k=>{let x=new Uint8Array(34),u=k===void 0;u&&(k=Kt(32)),ze(k,32,"seed"),x.set(k),u&&V(k),x[32]=n,x[33]=r;let[a,d,b]=ct.decode(Le(x,
{dkLen:ct.bytesLen})),l=_(d),y=[];for(let B=0;B<r;B++)y.push(Se(l.get(B&255,B>>8&255)));let p=[];for(let B=r;B<r+n;B++)p.push(Se(l.get(B&255,B>>8&255)));let w=y.
map(B=>oe.NTT.encode(B.slice())),m=[],T=[],v=A(a),O=$e(de);for(let B=0;B<n;B++){V(O);for(let W=0;W<r;W++){let G=Nn(v.get(W,B));xt(O,Et(G,w[W]))}oe.NTT.decode(O);
let{r0:Z,r1:K}=Ee(xt(O,p[B]));m.push(Z),T.push(K)}let I=me.encode([a,T]),D=Le(I,{dkLen:E}),N=pe.encode([a,b,D,y,p,m]);return v.clean(),l.clean(),V(a,d,b,y,p,w,O,
m,T,D,x),{publicKey:I,secretKey:N}},getPublicKey:k=>{let[x,u,a,d,b,l]=pe.decode(k),y=A(x),p=d.map(T=>oe.NTT.encode(T.slice())),w=[],m=$e(de);for(let T=0;T<n;T++){
m.fill(0);for(let O=0;O<r;O++){let I=Nn(y.get(O,T));xt(m,Et(I,p[O]))}oe.NTT.decode(m),xt(m,b[T]);let{r1:v}=Ee(m);w.push(v)}return y.clean(),V(m,p,l,d,b),me.encode(
[x,w])},sign:(k,x,u={})=>{u=nt(u,ro),u=fo(u,ro);let{extraEntropy:a,externalMu:d=!1}=u;d&&ze(k,h,"mu");let b=a===!1||a===void 0,l=a===!1?new Uint8Array(32):a===void 0?
Kt(je):a;ze(l,32,"extraEntropy");let y=(()=>{try{return pe.decode(x)}catch(K){throw b&&V(l),K}})(),[p,w,m,T,v,O]=y,I=[],D=A(p);for(let K=0;K<n;K++){let W=[];for(let G=0;G<
r;G++)W.push(Nn(D.get(G,K)));I.push(W)}D.clean();for(let K=0;K<r;K++)oe.NTT.encode(T[K]);for(let K=0;K<n;K++)oe.NTT.encode(v[K]),oe.NTT.encode(O[K]);let N=d?k:Le.
create({dkLen:h}).update(m).update(k).digest(),B=Le.create({dkLen:h}).update(w).update(l).update(N).digest();b&&V(l),ze(B,h);let Z=_(B,Y.bytesLen);e:for(let K=0;;){
let W=[];for(let ee=0;ee<r;ee++,K++)W.push(Y.decode(Z.get(K&255,K>>8)()));let G=W.map(ee=>oe.NTT.encode(ee.slice())),fe=[];for(let ee=0;ee<n;ee++){let ge=$e(de);
for(let Ue=0;Ue<r;Ue++)xt(ge,Et(I[ee][Ue],G[Ue]));oe.NTT.decode(ge),fe.push(ge)}let le=fe.map(ee=>ee.map(j)),ie=Le.create({dkLen:g}).update(N).update(be.encode(
le)).digest(),ae=oe.NTT.encode(xe(ie)),Q=T.map(ee=>Et(ee,ae));for(let ee=0;ee<r;ee++)if(xt(oe.NTT.decode(Q[ee]),W[ee]),dn(Q[ee],f-U)){V(ie,Q,ae,le,fe,G,W);continue e}
let te=0,ce=[];for(let ee=0;ee<n;ee++){let ge=oe.NTT.decode(Et(v[ee],ae)),Ue=co(fe[ee],ge).map(J);if(dn(Ue,o-U)){V(ie,Q,ae,le,fe,G,W,ce,ge,Ue);continue e}let Be=oe.
NTT.decode(Et(O[ee],ae));if(dn(Be,o)){V(ie,Q,ae,le,fe,G,W,ce,ge,Ue,Be);continue e}xt(Ue,Be);let Ot=se(Ue,le[ee]);ce.push(Ot.v),te+=Ot.cnt}if(te>i){V(ie,Q,ae,le,
fe,G,W,ce);continue}Z.clean();let ke=ue.encode([ie,Q,ce]);return V(ie,Q,ce,ae,le,fe,G,W,B,T,v,O,...I),d||V(N),ke}throw new Error("Unreachable code path reached,\
 report this error")},verify:(k,x,u,a={})=>{a=fo(a,ra);let{externalMu:d=!1}=a;d&&ze(x,h,"mu");let[b,l]=me.decode(u),y=Le(u,{dkLen:E});if(k.length!==ue.bytesLen)
return!1;let[p,w,m]=ue.decode(k);if(m===!1)return!1;for(let B=0;B<r;B++)if(dn(w[B],f-U))return!1;let T=d?x:Le.create({dkLen:h}).update(y).update(x).digest(),v=oe.
NTT.encode(xe(p)),O=w.map(B=>B.slice());for(let B=0;B<r;B++)oe.NTT.encode(O[B]);let I=[],D=A(b);for(let B=0;B<n;B++){let Z=Et(oe.NTT.encode(sa(l[B])),v),K=$e(de);
for(let G=0;G<r;G++){let fe=Nn(D.get(G,B));xt(K,Et(fe,O[G]))}let W=oe.NTT.decode(co(K,Z));I.push(Ae(W,m[B]))}D.clean();let N=Le.create({dkLen:g}).update(T).update(
be.encode(I)).digest();for(let B of m)if(!(B.reduce((K,W)=>K+W,0)<=i))return!1;for(let B of w)if(dn(B,f-U))return!1;return fn(p,N)}});return Object.freeze({info:Object.
freeze({type:"ml-dsa"}),internal:Ne,securityLevel:S,keygen:Ne.keygen,lengths:Ne.lengths,getPublicKey:Ne.getPublicKey,sign:(k,x,u={})=>{u=nt(u);let a=$t(k,u.context),
d=Ne.sign(a,x,{extraEntropy:u.extraEntropy,externalMu:!1});return V(a),d},verify:(k,x,u,a={})=>(a=bt(a),ze(k,void 0,"signature"),Ne.verify(k,$t(x,a.context),u,{
externalMu:!1})),prehash:k=>{on(k,S);let x=k;return Object.freeze({info:Object.freeze({type:"hashml-dsa"}),securityLevel:S,lengths:Ne.lengths,keygen:Ne.keygen,getPublicKey:Ne.
getPublicKey,sign:(u,a,d={})=>{d=nt(d);let b=zt(x,u,d.context),l=Ne.sign(b,a,{extraEntropy:d.extraEntropy,externalMu:!1});return V(b),l},verify:(u,a,d,b={})=>(b=
bt(b),ze(u,void 0,"signature"),Ne.verify(u,zt(x,a,b.context),d,{externalMu:!1}))})}})}var so=aa({...ca[3],CRH_BYTES:64,TR_BYTES:64,C_TILDE_BYTES:48,XOF128:$f,XOF256:zf,securityLevel:192});var Mn=class{oHash;iHash;blockLen;outputLen;canXOF=!1;finished=!1;destroyed=!1;constructor(t,n){if(Sn(t),z(n,void 0,"key"),this.iHash=t.create(),typeof this.iHash.
update!="function")throw new Error("expected Hash instance");this.blockLen=this.iHash.blockLen,this.outputLen=this.iHash.outputLen;let r=this.blockLen,f=new Uint8Array(
r);f.set(n.length>r?t.create().update(n).digest():n);for(let o=0;o<f.length;o++)f[o]^=54;this.iHash.update(f),this.oHash=t.create();for(let o=0;o<f.length;o++)f[o]^=
106;this.oHash.update(f),pt(f)}update(t){return at(this),this.iHash.update(t),this}digestInto(t){at(this),Ht(t,this),this.finished=!0;let n=t.subarray(0,this.outputLen);
this.iHash.digestInto(n),this.oHash.update(n),this.oHash.digestInto(n),this.destroy()}digest(){let t=new Uint8Array(this.oHash.outputLen);return this.digestInto(
t),t}_cloneInto(t){t||=Object.create(Object.getPrototypeOf(this),{});let{oHash:n,iHash:r,finished:f,destroyed:o,blockLen:c,outputLen:s,canXOF:i}=this;return t=t,
t.finished=f,t.destroyed=o,t.blockLen=c,t.outputLen=s,t.canXOF=i,t.oHash=n._cloneInto(t.oHash),t.iHash=r._cloneInto(t.iHash),t}clone(){return this._cloneInto()}destroy(){
this.destroyed=!0,this.oHash.destroy(),this.iHash.destroy()}},ao=(()=>{let e=((t,n,r)=>new Mn(t,n).update(r).digest());return e.create=(t,n)=>new Mn(t,n),e})();function io(e,t,n){return e&t^~e&n}function bo(e,t,n){return e&t^e&n^t&n}var Cn=class{blockLen;outputLen;canXOF=!1;padOffset;isLE;buffer;view;finished=!1;length=0;pos=0;destroyed=!1;constructor(t,n,r,f){
this.blockLen=t,this.outputLen=n,this.padOffset=r,this.isLE=f,this.buffer=new Uint8Array(t),this.view=it(this.buffer)}update(t){at(this),z(t);let{view:n,buffer:r,
blockLen:f}=this,o=t.length,c=!1;for(let s=0;s<o;){let i=Math.min(f-this.pos,o-s);if(i===f){let h=it(t);for(;f<=o-s;s+=f)this.process(h,s);c=!0;continue}r.set(s===
0&&i===o?t:t.subarray(s,s+i),this.pos),this.pos+=i,s+=i,this.pos===f&&(this.process(n,0),this.pos=0,c=!0)}return this.length+=t.length,c&&this.roundClean(),this}digestInto(t){
at(this),Ht(t,this),this.finished=!0;let{buffer:n,view:r,blockLen:f,isLE:o}=this,{pos:c}=this;n[c++]=128,n.fill(0,c),this.padOffset>f-c&&(this.process(r,0),n.fill(
0)),tf(r,f-8,this.length*8,o),this.process(r,0),this.roundClean();let s=t===n?r:it(t),i=this.outputLen,h=i/4,E=this.get();if(i%4||h>E.length)throw new Error("in\
valid outputLen");for(let g=0;g<h;g++)s.setUint32(4*g,E[g],o)}digest(){let{buffer:t,outputLen:n}=this;this.digestInto(t);let r=t.slice(0,n);return this.destroy(),
r}_cloneIntoMeta(t){let{buffer:n,length:r,finished:f,destroyed:o,pos:c}=this;return t.destroyed=o,t.finished=f,t.length=r,t.pos=c,c&&t.buffer.set(n),t}clone(){return this.
_cloneInto()}},uo=Uint32Array.from([1779033703,3144134277,1013904242,2773480762,1359893119,2600822924,528734635,1541459225]);var ia=Uint32Array.from([1116352408,1899447441,3049323471,3921009573,961987163,1508970993,2453635748,2870763221,3624381080,310598401,607225278,1426881987,1925078388,
2162078206,2614888103,3248222580,3835390401,4022224774,264347078,604807628,770255983,1249150122,1555081692,1996064986,2554220882,2821834349,2952996808,3210313671,
3336571891,3584528711,113926993,338241895,666307205,773529912,1294757372,1396182291,1695183700,1986661051,2177026350,2456956037,2730485921,2820302411,3259730800,
3345764771,3516065817,3600352804,4094571909,275423344,430227734,506948616,659060556,883997877,958139571,1322822218,1537002063,1747873779,1955562222,2024104815,2227730452,
2361852424,2428436474,2756734187,3204031479,3329325298]),Tt=new Uint32Array(64),Tr=class extends Cn{A=0;B=0;C=0;D=0;E=0;F=0;G=0;H=0;constructor(t,n){super(64,t,
8,!1),this.A=n[0]|0,this.B=n[1]|0,this.C=n[2]|0,this.D=n[3]|0,this.E=n[4]|0,this.F=n[5]|0,this.G=n[6]|0,this.H=n[7]|0}get(){let{A:t,B:n,C:r,D:f,E:o,F:c,G:s,H:i}=this;
return[t,n,r,f,o,c,s,i]}set(t,n,r,f,o,c,s,i){this.A=t|0,this.B=n|0,this.C=r|0,this.D=f|0,this.E=o|0,this.F=c|0,this.G=s|0,this.H=i|0}_cloneInto(t){return(t||=new this.
constructor).set(...this.get()),this._cloneIntoMeta(t)}process(t,n){for(let g=0;g<16;g++,n+=4)Tt[g]=t.getUint32(n,!1);for(let g=16;g<64;g++){let A=Tt[g-15],_=Tt[g-
2],S=Xe(A,7)^Xe(A,18)^A>>>3,U=Xe(_,17)^Xe(_,19)^_>>>10;Tt[g]=U+Tt[g-7]+S+Tt[g-16]|0}let{A:r,B:f,C:o,D:c,E:s,F:i,G:h,H:E}=this;for(let g=0;g<64;g++){let A=Xe(s,6)^
Xe(s,11)^Xe(s,25),_=E+A+io(s,i,h)+ia[g]+Tt[g]|0,U=(Xe(r,2)^Xe(r,13)^Xe(r,22))+bo(r,f,o)|0;E=h,h=i,i=s,s=c+_|0,c=o,o=f,f=r,r=_+U|0}r=r+this.A|0,f=f+this.B|0,o=o+
this.C|0,c=c+this.D|0,s=s+this.E|0,i=i+this.F|0,h=h+this.G|0,E=E+this.H|0,this.set(r,f,o,c,s,i,h,E)}roundClean(){pt(Tt)}destroy(){this.destroyed=!0,this.set(0,0,
0,0,0,0,0,0),pt(this.buffer)}},_r=class extends Tr{constructor(){super(32,uo)}};var Ft=Zt(()=>new _r,jt(1));/*! noble-post-quantum - MIT License (c) 2024 Paul Miller (paulmillr.com) */var da=Object.freeze(["extraEntropy"]),ba=Object.freeze([]),ua=Object.freeze({"128f":Object.
freeze({W:16,N:16,H:66,D:22,K:33,A:6,securityLevel:128}),"128s":Object.freeze({W:16,N:16,H:63,D:7,K:14,A:12,securityLevel:128}),"192f":Object.freeze({W:16,N:24,
H:66,D:22,K:33,A:8,securityLevel:192}),"192s":Object.freeze({W:16,N:24,H:63,D:7,K:17,A:14,securityLevel:192}),"256f":Object.freeze({W:16,N:32,H:68,D:17,K:35,A:9,
securityLevel:256}),"256s":Object.freeze({W:16,N:32,H:64,D:8,K:22,A:14,securityLevel:256})}),Fe={WOTS:0,WOTSPK:1,HASHTREE:2,FORSTREE:3,FORSPK:4,WOTSPRF:5,FORSPRF:6},
Sr=(e,t)=>{let n=Ze(t);return r=>{let f=new Uint32Array(e);for(let o=0,c=0,s=0,i=0;o<e;o++){for(;s<t;)i=i<<8|r[c++],s+=8;s-=t,f[o]=i>>>s&n}return f}},lo=BigInt(
1),la=BigInt(8),ha=BigInt(255);function kr(e){return(lo<<BigInt(e))-lo}function ya(e,t){let n=t,{N:r,W:f,H:o,D:c,K:s,A:i,securityLevel:h}=e,E=n.getContext(e);if(f!==
16)throw new Error("Unsupported Winternitz parameter");let g=4,A=Math.floor(8*r/g),_=r<=8?2:r<=136?3:4,S=Math.floor(o/c),U=A+_,F=22,j=0,J=1,R=9,M=12,C=13,P=17,H=18,
$=21;n.isCompressed||(F=32,j+=3,J+=7,R+=10,M+=10,C+=10,P+=10,H+=10,$+=10);let L=(a,d=new Uint8Array(F))=>{let b=Object.hasOwn(a,"type")?a.type:void 0,l=Object.hasOwn(
a,"height")?a.height:void 0,y=Object.hasOwn(a,"tree")?a.tree:void 0,p=Object.hasOwn(a,"layer")?a.layer:void 0,w=Object.hasOwn(a,"index")?a.index:void 0,m=Object.
hasOwn(a,"chain")?a.chain:void 0,T=Object.hasOwn(a,"hash")?a.hash:void 0,v=Object.hasOwn(a,"keypair")?a.keypair:void 0,O=Object.hasOwn(a,"subtreeAddr")?a.subtreeAddr:
void 0,I=Object.hasOwn(a,"keypairAddr")?a.keypairAddr:void 0;if(l!==void 0&&(d[P]=l),p!==void 0&&(d[j]=p),b!==void 0&&(d[R]=b),m!==void 0&&(d[P]=m),T!==void 0&&
(d[$]=T),w!==void 0&&(d[H+0]=w>>>24,d[H+1]=w>>>16,d[H+2]=w>>>8,d[H+3]=w),O&&d.set(O.subarray(0,J+8)),y!==void 0){let D=y;for(let N=7;N>=0;N--,D>>=la)d[J+N]=Number(
D&ha)}return v!==void 0&&(d[C]=v,S>8&&(d[M]=v>>>8)),I&&(d.set(I.subarray(0,J+8)),d[C]=I[C],S>8&&(d[M]=I[M])),d},q=Sr(_,g),Y=a=>{let d=Sr(A,g)(a),b=0;for(let p=0;p<
d.length;p++)b+=f-1-d[p];b<<=(8-_*g%8)%8;let l=q(Nf(b,Math.ceil(_*g/8))),y=new Uint32Array(U);return y.set(d),y.set(l,d.length),y},re=Sr(s,i),be=S*(c-1),me=S,pe=ve(
"hashedMessage",Math.ceil(i*s/8),Math.ceil(be/8),Math.ceil(S/8)),ue=(a,d,b,l)=>{let p=l.Hmsg(a,d,b,pe.bytesLen),[w,m,T]=pe.decode(p),v=ir(m)&kr(be),O=Number(ir(
T))&Ze(me);return{tree:v,leafIdx:O,md:w}},we=(a,d)=>function(l,y,p,w,m){let T=l,v=d,O=(1<<a)-1,I=new Uint8Array(a*r),D=new Uint8Array(a*r),N=new Uint8Array(2*r),
B=N.subarray(0,r),Z=N.subarray(r);for(let K=0;;K++){let W=K+p;Z.set(v(y,W,T,m));let G=0;for(let fe=K,le=p,ie=y;;G++,fe>>>=1,ie>>>=1,le>>>=1){if(G===a)return{root:Z,
authPath:D};if((fe^ie)===1&&D.subarray(G*r).set(Z),(fe&1)===0&&K<O)break;L({height:G+1,index:(fe>>1)+(le>>1)},w),B.set(I.subarray(G*r).subarray(0,r)),Z.set(T.thashN(
2,N,w))}I.subarray(G*r).set(Z)}throw new Error("Unreachable code path reached, report this error")},Se=we(S,(a,d,b,l)=>{let y=b,p=new Uint8Array(U*r),w=d===a?0:
-1>>>0;L({keypair:d},l.leafAddr),L({keypair:d},l.pkAddr);for(let m=0;m<U;m++){let T=l.wotsSteps[m]|w,v=p.subarray(m*r,(m+1)*r);L({chain:m,hash:0,type:Fe.WOTSPRF},
l.leafAddr),v.set(y.PRFaddr(l.leafAddr)),L({type:Fe.WOTS},l.leafAddr);for(let O=0;O===T&&l.wotsSig.subarray(m*r).set(v),O!==f-1;O++)L({hash:O},l.leafAddr),v.set(
y.thash1(v,l.leafAddr))}return y.thashN(U,p,l.pkAddr)}),xe=we(i,(a,d,b,l)=>{let y=b;L({type:Fe.FORSPRF,index:d},l);let p=y.PRFaddr(l);return L({type:Fe.FORSTREE},
l),y.thash1(p,l)}),Ee=(a,d,b,l,y=new Uint8Array(r))=>{L({type:Fe.HASHTREE},b);let p={wotsSig:new Uint8Array(k.bytesLen),wotsSteps:Y(y),leafAddr:L({subtreeAddr:d}),
pkAddr:L({type:Fe.WOTSPK,subtreeAddr:d})},{root:w,authPath:m}=Se(a,l,0,b,p);return{root:w,sigWots:p.wotsSig.subarray(0,U*r),sigAuth:m}},Ae=(a,d,b,l,y,p,w)=>{let m=p,
T=new Uint8Array(2*r),v=T.subarray(0,r),O=T.subarray(r,2*r);(d&1)!==0?(O.set(a.subarray(0,r)),v.set(l.subarray(0,r))):(v.set(a.subarray(0,r)),O.set(l.subarray(0,
r))),d>>>=1,b>>>=1;for(let I=0;I<y-1;I++,d>>=1,b>>=1){L({height:I+1,index:d+b},w);let D=l.subarray((I+1)*r,(I+2)*r);(d&1)!==0?(O.set(m.thashN(2,T,w)),v.set(D)):
(T.set(m.thashN(2,T,w)),O.set(D))}return L({height:y,index:d+b},w),m.thashN(2,T,w)},se=ve("seed",r,r,r),je=ve("publicKey",r,r),ct=ve("secretKey",r,r,je.bytesLen),
Ne=rt(ve("fors",r,r*i),s),k=rt(ve("wots",U*r,S*r),c),x=ve("signature",r,Ne,k),u=Object.freeze({info:Object.freeze({type:"internal-slh-dsa"}),lengths:Object.freeze(
{publicKey:je.bytesLen,secretKey:ct.bytesLen,signature:x.bytesLen,seed:se.bytesLen,signRand:r}),keygen(a){a!==void 0&&ze(a,se.bytesLen,"seed"),a=a===void 0?Kt(se.
bytesLen):Ke(a);let[d,b,l]=se.decode(a),y=E(l,d),p=L({layer:c-1}),w=L({layer:c-1}),{root:m}=Ee(y,w,p,-1>>>0),T=je.encode([l,m]),v=ct.encode([d,b,T]);return y.clean(),
V(d,b,m,w,p),{publicKey:T,secretKey:v}},getPublicKey:a=>{let[d,b,l]=ct.decode(a);return Uint8Array.from(l)},sign:(a,d,b={})=>{b=nt(b,da);let{extraEntropy:l}=b,[
y,p,w]=ct.decode(d),[m,T]=je.decode(w);l===!1?l=Ke(m):l===void 0?l=Kt(r):l=Ke(l),ze(l,r);let v=E(m,y),O=v.PRFmsg(p,l,a),{tree:I,leafIdx:D,md:N}=ue(O,w,a,v),B=L(
{type:Fe.WOTS,tree:I,keypair:D}),Z=[],K=L({keypairAddr:B}),W=L({keypairAddr:B}),G=re(N),fe=[];for(let ce=0;ce<G.length;ce++){let ke=ce<<i;L({type:Fe.FORSPRF,height:0,
index:G[ce]+ke},W);let ee=Ke(v.PRFaddr(W));L({type:Fe.FORSTREE},W);let{root:ge,authPath:Ue}=xe(v,G[ce],ke,W,K);Z.push(ge),fe.push([ee,Ue])}let le=L({type:Fe.FORSPK,
keypairAddr:B}),ie=Ke(v.thashN(s,mt(...Z),le)),ae=L({type:Fe.HASHTREE}),Q=[];for(let ce=0;ce<c;ce++,I>>=BigInt(S)){L({tree:I,layer:ce},ae),L({subtreeAddr:ae,keypair:D},
B);let{sigWots:ke,sigAuth:ee,root:ge}=Ee(v,B,ae,D,ie);ie.set(ge),V(ge),Q.push([ke,ee]),D=Number(I&kr(S))}v.clean();let te=x.encode([O,fe,Q]);return V(O,l,ae,B,K,
W,G,Z),te},verify:(a,d,b,l={})=>{bt(l,ba);let[y,p]=je.decode(b),w=b;if(ze(a,void 0,"signature"),a.length!==x.bytesLen)return!1;let[m,T,v]=x.decode(a),O=E(y),{tree:I,
leafIdx:D,md:N}=ue(m,w,d,O),B=L({type:Fe.WOTS,tree:I,keypair:D}),Z=[],K=L({type:Fe.FORSTREE,keypairAddr:B}),W=re(N);for(let Q=0;Q<T.length;Q++){let[te,ce]=T[Q],
ke=Q<<i;L({height:0,index:W[Q]+ke},K);let ee=O.thash1(te,K);Z.push(Ke(Ae(ee,W[Q],ke,ce,i,O,K)))}let G=L({type:Fe.FORSPK,keypairAddr:B}),fe=Ke(O.thashN(s,mt(...Z),
G)),le=L({type:Fe.HASHTREE}),ie=L({type:Fe.WOTSPK}),ae=new Uint8Array(U*r);for(let Q=0;Q<v.length;Q++,I>>=BigInt(S)){let[te,ce]=v[Q];L({tree:I,layer:Q},le),L({subtreeAddr:le,
keypair:D},B),L({keypairAddr:B},ie);let ke=Y(fe);for(let ge=0;ge<U;ge++){L({chain:ge},B);let Ue=f-1-ke[ge],Be=ke[ge],Ot=ae.subarray(ge*r);Ot.set(te.subarray(ge*
r,(ge+1)*r));for(let ht=Be;ht<Be+Ue&&ht<f;ht++)L({hash:ht},B),Ot.set(O.thash1(Ot,B))}let ee=O.thashN(U,ae,ie);fe=Ke(Ae(ee,D,0,ce,S,O,le)),D=Number(I&kr(S))}return fn(
fe,p)}});return Object.freeze({info:Object.freeze({type:"slh-dsa"}),internal:u,securityLevel:h,lengths:u.lengths,keygen:u.keygen,getPublicKey:u.getPublicKey,sign:(a,d,b={})=>{
b=nt(b);let l=$t(a,b.context),y=u.sign(l,d,{extraEntropy:b.extraEntropy});return V(l),y},verify:(a,d,b,l={})=>(l=bt(l),u.verify(a,$t(d,l.context),b)),prehash:a=>{
on(a,h);let d=a;return Object.freeze({info:Object.freeze({type:"hashslh-dsa"}),lengths:u.lengths,keygen:u.keygen,getPublicKey:u.getPublicKey,sign:(b,l,y={})=>{y=
nt(y);let p=zt(d,b,y.context),w=u.sign(p,l,{extraEntropy:y.extraEntropy});return V(p),w},verify:(b,l,y,p={})=>(p=bt(p),u.verify(b,zt(d,l,p.context),y))})}})}var pa=(e,t)=>n=>(r,f)=>{let{N:o}=n,c={prf:0,thash:0,hmsg:0,gen_message_random:0,mgf1:0},s=new Uint8Array(4),i=it(s),h=e.create().update(r).update(new Uint8Array(
e.blockLen-o)),E=t.create().update(r).update(new Uint8Array(t.blockLen-o)),g=h.clone(),A=E.clone(),_=new Uint8Array(e.outputLen),S=new Uint8Array(t.outputLen),U=new Uint8Array(
e.outputLen),F=_.subarray(0,o),j=S.subarray(0,o),J=U.subarray(0,o);function R(C,P,H){c.mgf1++;let $=new Uint8Array(Math.ceil(P/H.outputLen)*H.outputLen);if(P>2**
32)throw new Error("mask too long");for(let L=0,q=$;q.length;L++)i.setUint32(0,L,!1),H.create().update(C).update(s).digestInto(q),q=q.subarray(H.outputLen);return V(
$.subarray(P)),$.subarray(0,P)}let M=(C,P,H,$)=>(L,q,Y)=>{c.thash++;let re=L*o;return C._cloneInto(P).update(Y).update(q.length===re?q:q.subarray(0,re)).digestInto(
H),$};return{PRFaddr:C=>{if(!f)throw new Error("No sk seed");return c.prf++,h._cloneInto(g).update(C).update(f).digestInto(U),J},PRFmsg:(C,P,H)=>(c.gen_message_random++,
ao.create(t,C).update(P).update(H).digest().subarray(0,o)),Hmsg:(C,P,H,$)=>{c.hmsg++;let L=mt(C.subarray(0,o),P.subarray(0,o),t.create().update(C.subarray(0,o)).
update(P).update(H).digest());return R(L,$,t)},thash1:M(h,g,_,F).bind(null,1),thashN:M(E,A,S,j),clean:()=>{h.destroy(),E.destroy(),g.destroy(),A.destroy(),V(_,S,
U)}}},ga={isCompressed:!0,getContext:pa(Ft,Ft)};var ho=ya(ua["128f"],ga);function Or(e,t,n,[r,f],o){return Object.freeze({id:e,name:t,coseAlgorithm:n,publicKeyBytes:r,signatureBytes:f,verifies:(s,i,h)=>s.length===r&&h.length===f&&o.verify(
h,i,s)})}var _t=Or("ml-dsa-65","ML-DSA-65 (FIPS 204)",-49,[1952,3309],so),Hn=Or("falcon-512-padded-r3","Falcon-512 (round 3, padded)",-66512,[897,666],no),jn=Or(
"slh-dsa-sha2-128f","SLH-DSA-SHA2-128f (FIPS 205)",-66128,[32,17088],ho),St=[_t,Hn,jn];function Nt(e){return{"ml-dsa-65":e(_t),"falcon-512-padded-r3":e(Hn),"slh\
-dsa-sha2-128f":e(jn)}}var ma="trefoil:statement/2",Qe=255,Br=16,Ur=64,yo=64,wa=120n,bn=1024,po=32,Wt=-65537,un=255,xa=65535,ot=4294967295,Ea=["no_match","match"],Aa=[void 0,"plain","\
shared"];function mo(e){return Bt(e)}function Pn(e){let t=Pe.of("statement",e,bn);t.map("statement",8);let n=t.key("iss",1).text("iss",Qe),r=t.key("aud",3).text(
"aud",Qe),f=t.key("exp",4).uint("exp"),o=t.key("iat",6).uint("iat"),c=f-o;if(c<1n||c>wa)throw t.outOfRange("exp");let s=t.key("cti",7).bytes("cti",17),i=s[16]??
po;if(i>=po)throw t.outOfRange("cti");let h=t.key("eat_nonce",10).bytes("eat_nonce",Br,Ur);t.key("eat_profile",265).format("eat_profile",ma),t.key("trefoil",Wt);
let E=Ta(t);t.finish("statement");let g=s.slice(0,16);return Object.freeze({issuer:n,audience:r,expiresAt:f,issuedAt:o,batchId:g,place:i,nonce:h,...E})}var Lr=11;
function Ta(e){let t=e.map("trefoil",Lr,Lr+1),n={suite:ln(e.key("suite",1)),tenant:e.key("tenant",2).bytes("tenant",16),account:e.key("account",3).bytes("accoun\
t",32),requestDigest:e.key("request_digest",4).bytes("request_digest",32),decision:go(e.key("decision",5),"decision",Ea),probeMode:go(e.key("probe_mode",6),"pro\
be_mode",Aa),policyId:vr(e.key("policy",7),"policy").number("policy.id",ot),policyVersion:e.number("policy.version",ot),fmrClass:e.key("fmr_class",8).number("fm\
r_class",un),embedder:vr(e.key("model",9),"model").text("model.embedder",yo),quantiser:e.text("model.quantiser",yo),templateGeneration:e.key("template_generatio\
n",10).number("template_generation",ot),proof:_a(e.key("proof",11))};if(t===Lr)return{...n,reveal:void 0};let r=e.offset,f=Sa(e.key("reveal",12));if(n.proof===void 0)
throw e.outOfRange("reveal",r);return{...n,reveal:f}}function ln(e){let t=e.offset,n=e.uint("suite");if(n===1n)return 1;let r=`signature suite ${n} is unknown; \
update the verifier`;throw e.error("suite","unknown-suite",r,t)}function vr(e,t){return e.array(t,2),e}function go(e,t,n){let r=e.offset,f=e.uint(t),o=f<BigInt(
n.length)?n[Number(f)]:void 0;if(o===void 0)throw e.outOfRange(t,r);return o}function _a(e){if(e.isNull()){e.null("proof");return}return e.array("proof",5),Object.
freeze({circuit:e.number("proof.circuit",xa),root:e.bytes("proof.root",32),level:e.number("proof.level",un),epoch:e.number("proof.epoch",ot),session:e.bytes("pr\
oof.session",32)})}function Sa(e){vr(e,"reveal");let t=e.offset,n=e.number("reveal.position",ot);if(n===0)throw e.outOfRange("reveal.position",t);return Object.
freeze({position:n,value:e.bytes("reveal.value",32)})}var xo=63,hn=32,Eo=Ft(new Uint8Array);function ka(e){return Ft.create().update(Uint8Array.of(0)).update(e).digest()}function wo(e,t){return Ft.create().update(Uint8Array.
of(1)).update(e).update(t).digest()}function Oa(e,t,n,r){if(t<0n||t>=n)return;let f=t,o=n-1n,c=e;for(let s of r){if(o===0n)return;if((f&1n)===1n||f===o)for(c=wo(
s,c);(f&1n)===0n&&f!==0n;)f>>=1n,o>>=1n;else c=wo(c,s);f>>=1n,o>>=1n}return o===0n?c:void 0}function Ao(e,t,n,r,f){let o=Oa(ka(e),t,n,r);return o!==void 0&&Me(o,
f)}var _o="trefoil:seal/2",La=24*1024,So=1,ko=4,Oo=15,Lo=395,Rr=1,va=18,Ba=544,Ua=3,kt=class e{header;signatures;constructor(t,n){this.header=Object.freeze(t),this.
signatures=Object.freeze(n)}static decode(t){let n=Pe.of("seal",t,La),r=e.read(n);return n.finish("seal"),r}static read(t){t.array("seal",4);let n=t.bytes("seal\
.root",hn),r=To(t,_t),f=Ia(r.protectedHeader,n),o=c=>{let s=t.offset,{protectedHeader:i,signature:h}=To(t,c);if(Me(i,vo(f,c)))return h;throw t.error("seal.prote\
cted","wrong-identifier","the identifier does not match the content it names",s)};return new e(f,Nt(c=>c===_t?r.signature:o(c)))}reference(){let{header:t}=this,
n=new st().array(4).bytes(t.keySetId);return Bo(n,t),n.int(Rr).bytes(t.root),{sealNumber:t.sealNumber,digest:Bt(n.finish())}}isSignedBy(t,n){return t.verifies(n,
Ra(this.header,t),this.signatures[t.id])}};function Ra(e,t){return new st().array(4).text("Signature1").bytes(vo(e,t)).bytes(new Uint8Array).bytes(e.root).finish()}
function vo(e,t){let n=new st().map(4);return n.int(So).int(t.coseAlgorithm),n.int(ko).bytes(e.keySetId),Bo(n.int(Oo),e),n.int(Lo).int(Rr).finish()}function Bo(e,t){
e.map(4),e.int(1).text(t.issuer),e.int(6).uint(t.time),e.int(265).text(_o),e.int(Wt).map(t.restored===void 0?6:7),e.int(1).int(t.suite),e.int(2).uint(t.sealNumber),
e.int(3).bytes(t.previous),e.int(4).uint(t.treeSize),e.int(5).bytes(t.logRoot),e.int(6).array(t.vaults.length);for(let n of t.vaults)n===void 0?e.null():e.array(
2).uint(n.generation).uint(n.restored);t.restored!==void 0&&e.int(7).array(2).uint(t.restored.first).uint(t.restored.time)}function Ia(e,t){let n=new Pe(e);n.map(
"seal.protected",4),n.key("seal.alg",So).key("seal.alg",_t.coseAlgorithm);let r=n.key("seal.kid",ko).bytes("seal.kid",32);n.key("seal.claims",Oo).map("seal.clai\
ms",4);let f=n.key("seal.iss",1).text("seal.iss",Qe),o=n.key("seal.iat",6).uint("seal.iat");n.key("seal.eat_profile",265).format("seal.eat_profile",_o);let c=n.
key("seal.trefoil",Wt).map("seal.trefoil",6,7),s=ln(n.key("seal.suite",1)),i=n.key("seal.number",2).uint("seal.number"),h=n.key("seal.previous",3).bytes("seal.p\
revious",32),E=n.key("seal.tree_size",4).uint("seal.tree_size"),g=n.key("seal.log_root",5).bytes("seal.log_root",hn),A=Array.from({length:n.key("seal.vaults",6).
array("seal.vaults",0,Ua)},()=>Fa(n)),_=c===7?Na(n.key("seal.restored",7)):void 0;if(E===0n)throw n.outOfRange("seal.tree_size");if(i===0n&&h.some(U=>U!==0))throw n.
outOfRange("seal.previous");if(i===0n&&!Me(g,Eo))throw n.outOfRange("seal.log_root");if(_!==void 0&&(_.first>i||_.time>o))throw n.outOfRange("seal.restored");n.
key("seal.vds",Lo).key("seal.vds",Rr),n.finish("seal.protected");let S=Object.freeze(A);return{issuer:f,keySetId:r,sealNumber:i,previous:h,logRoot:g,treeSize:E,
root:t,time:o,suite:s,vaults:S,restored:_}}function Fa(e){if(e.isNull()){e.null("seal.vault");return}e.array("seal.vault",2);let t=e.uint("seal.vault.generation");
return Object.freeze({generation:t,restored:e.uint("seal.vault.restored")})}function Na(e){e.array("seal.restored",2);let t=e.uint("seal.restored.first");return Object.
freeze({first:t,time:e.uint("seal.restored.time")})}function To(e,t){e.tag("seal.receipt",va),e.array("seal.receipt",4);let n=e.bytes("seal.protected",1,Ba);return e.
map("seal.unprotected",0),e.null("seal.payload"),{protectedHeader:n,signature:e.bytes("seal.signature",t.signatureBytes)}}var Ma="trefoil:attestation/1",Ca=28*1024;function Mt(e){let t=Pe.of("attestation",e,Ca);t.map("attestation",6),t.key("format",0).format("format",Ma);let n=t.key(
"statement",1).bytes("statement",1,bn),r=t.key("tree_size",2).uint("tree_size"),f=t.key("leaf_index",3).uint("leaf_index"),o=t.key("path",4).array("path",0,xo),
c=Array.from({length:o},()=>t.bytes("path",hn)),s=Ha(t);return t.finish("attestation"),{statement:n,treeSize:r,leafIndex:f,path:c,evidence:s}}function Ha(e){let t=e.
offset,n=e.int("seal");if(n===5n)return{form:"full",seal:kt.read(e)};if(n!==6n)throw e.unexpectedKey("seal",5,n,t);return e.array("seal_reference",2),{form:"com\
pact",reference:{sealNumber:e.uint("seal_reference.number"),digest:e.bytes("seal_reference.digest",32)}}}var _e=class extends Error{name="JsonError"},ja=8,Pa=(1n<<64n)-1n;function Uo(e){let t=new Ir(e),n=t.value(ja);return t.finish(),n}var Ir=class{#t;#e=0;constructor(t){
this.#t=t}#n(t){return new _e(`unexpected JSON at character ${this.#e}: ${t}`)}#r(){for(;` 	
\r`.includes(this.#t[this.#e]??"end");)this.#e+=1;return this.#t[this.#e]??""}#f(t){return this.#r()!==t?!1:(this.#e+=1,!0)}finish(){if(this.#r()!=="")throw this.#n(
"the text must end here")}value(t){if(t===0)throw this.#n("nested too deeply");let n=this.#r();return n==="{"?this.#o(t):n==="["?this.#s(t):n==='"'?this.#c():this.#t.
startsWith("null",this.#e)?(this.#e+=4,null):this.#a()}#o(t){let n=new Map;if(this.#e+=1,this.#f("}"))return n;do{if(this.#r()!=='"')throw this.#n("a field name\
 belongs here");let r=this.#c();if(n.has(r))throw this.#n(`field ${JSON.stringify(r)} is repeated`);if(!this.#f(":"))throw this.#n("a colon belongs here");n.set(
r,this.value(t-1))}while(this.#f(","));if(!this.#f("}"))throw this.#n("a comma or a closing brace belongs here");return n}#s(t){let n=[];if(this.#e+=1,this.#f("\
]"))return n;do n.push(this.value(t-1));while(this.#f(","));if(!this.#f("]"))throw this.#n("a comma or a closing bracket belongs here");return n}#c(){let t=this.#e+
1;for(;t<this.#t.length&&this.#t[t]!=='"';)t+=this.#t[t]==="\\"?2:1;let n=Da(this.#t.slice(this.#e,t+1));if(n===void 0)throw this.#n("a string of Unicode charac\
ters belongs here");return this.#e=t+1,n}#a(){let t=/(?:0|[1-9][0-9]{0,19})(?![0-9.eE])/y;t.lastIndex=this.#e;let n=t.exec(this.#t)?.[0];if(n===void 0||BigInt(n)>
Pa)throw this.#n("an object, an array, a string or an unsigned 64-bit integer belongs here");return this.#e+=n.length,BigInt(n)}};function Da(e){try{let t=JSON.
parse(e);return typeof t=="string"&&!/\p{Cs}/u.test(t)?t:void 0}catch{return}}var Fr="trefoil:trust-root/1",No="trefoil:key-set/1",Ro=64,Io=512*1024,Ka=320*1024,Mo=4,Co={version:1n,previous:new Uint8Array(32),cosignatures:[]},Ve=class e{issuer;keySets;version;previous;cosignatures;constructor(t,n,r){
this.issuer=t,this.keySets=Object.freeze(n),this.version=r.version,this.previous=r.previous,this.cosignatures=Object.freeze(r.cosignatures),Object.freeze(this)}digest(){
let t=this.version===1n,n=new st().array(t?3:5).text(Fr).text(this.issuer).array(this.keySets.length);for(let r of this.keySets){Do(n.array(3),r);let{status:f}=r;
n.int(["active","retired","revoked"].indexOf(f.state)).uint(f.state==="active"?0n:f.since)}return t||n.uint(this.version).bytes(this.previous),Bt(n.finish())}keySet(t){
return this.keySets.find(n=>Me(n.id,t))}static decode(t){let n=Pe.of("trust_root",t,Ka),r=n.array("trust_root",3,6);if(r!==3&&r!==6)throw n.wrongLength("trust_r\
oot");n.format("trust_root.format",Fr);let f=n.text("trust_root.issuer",Qe),o=n.array("trust_root.key_sets",1,Ro),c=Array.from({length:o},()=>Va(n));if(Fo(c))throw n.
outOfRange("trust_root.key_sets");let s=r===3?Co:qa(n);return n.finish("trust_root"),new e(f,c,s)}static fromJson(t){if(typeof t!="string")throw new TypeError("\
a trust root in text form is a string");if(t.length>Io||Yt(t).length>Io)throw new _e("the JSON text is too long; pass exactly one object");let n=Uo(t),[r,f,o]=Nr(
n,["format","issuer","key_sets"],...Ho);if(r!==Fr)throw new _e("unknown format or version; update this program");if(typeof f!="string"||!An(f,Qe))throw new _e("\
the issuer must be 1 to 255 bytes without control characters");if(!Array.isArray(o)||o.length<1||o.length>Ro)throw new _e("a trust root holds 1 to 64 key sets; \
drop the oldest retired ones");let c=o.map(Ga);if(Fo(c))throw new _e("a key set is listed twice; list it once with its current status");return new e(f,c,$a(n))}},
Ho=["version","previous","cosignatures"];function $a(e){let[t,n,r]=Ho.map(c=>e.get(c)??null);if(t===null&&n===null&&r===null)return Co;let f=typeof n=="string"?
jo(n):void 0;if(typeof t!="bigint"||t<2n||f===void 0||!Array.isArray(r))throw new _e("version 1 has neither version, previous nor cosignatures; later ones have \
all three");if(r.length>Mo)throw new _e("a trust root has at most 4 cosignatures");let o=r.map(za);return{version:t,previous:f,cosignatures:o}}function za(e){let[
t,...n]=Nr(e,["key_set",...St.map(o=>o.id)]),r=typeof t=="string"?jo(t):void 0;if(r===void 0)throw new _e("a key set's id is 64 lower-case hexadecimal digits");
let f=Nt(o=>Ko(n[St.indexOf(o)],o,o.signatureBytes));return{keySetId:r,signatures:f}}function jo(e){if(/^[0-9a-f]{64}$/.test(e))return Uint8Array.from({length:32},
(t,n)=>Number.parseInt(e.slice(2*n,2*n+2),16))}function qa(e){let t=e.offset,n=e.uint("trust_root.version"),r=e.bytes("trust_root.previous",32),f=e.array("trust\
_root.cosignatures",0,Mo),o=Array.from({length:f},()=>(e.array("trust_root.cosignature",4),{keySetId:e.bytes("trust_root.cosignature.key_set",32),signatures:Nt(
s=>e.bytes("trust_root.cosignature",s.signatureBytes))}));if(n<2n)throw e.outOfRange("trust_root.version",t);return{version:n,previous:r,cosignatures:o}}function Fo(e){
return new Set(e.map(t=>yt(t.id))).size!==e.length}function Po(e){let t=new st;return Do(t,e),Object.freeze({id:Bt(t.finish()),...e})}function Do(e,t){e.array(6).
text(No);for(let n of St)e.bytes(t.publicKeys[n.id]);e.uint(t.notBefore).uint(t.notAfter)}function Va(e){e.array("trust_root.key_set",3),e.array("key_set",6),e.
format("key_set.format",No);let t=Nt(h=>e.bytes(`key_set.${h.id}`,h.publicKeyBytes)),n=e.uint("key_set.not_before"),r=e.offset,f=e.uint("key_set.not_after");if(n>=
f)throw e.outOfRange("key_set.not_after",r);let o=e.offset,c=e.uint("trust_root.status"),s=e.uint("trust_root.since"),i=Wa(c,s);if(i===void 0)throw e.outOfRange(
"trust_root.status",o);return Po({publicKeys:t,notBefore:n,notAfter:f,status:i})}function Wa(e,t){if(e===0n&&t===0n)return{state:"active"};if(e===1n)return{state:"\
retired",since:t};if(e===2n)return{state:"revoked",since:t}}function Ga(e){let t=["id","status","not_before","not_after",...St.map(E=>E.id)],[n,r,f,o,...c]=Nr(e,
t,"since"),s=e.get("since")??null,i=Nt(E=>Xa(c[St.indexOf(E)],E));if(typeof f!="bigint"||typeof o!="bigint"||f>=o)throw new _e("a key set's not_before must be e\
arlier than its not_after");let h=Po({publicKeys:i,notBefore:f,notAfter:o,status:Ya(r,s)});if(yt(h.id)===n)return h;throw new _e("a key set's id does not match \
its keys; fetch the file again")}function Ya(e,t){if(e==="active"&&t===null)return{state:e};if((e==="retired"||e==="revoked")&&typeof t=="bigint")return{state:e,
since:t};throw new _e("status is active without since, or retired or revoked with since")}function Xa(e,t){return Ko(e,t,t.publicKeyBytes)}function Ko(e,t,n){let r=typeof e==
"string"?xn(e):void 0;if(r?.length!==n)throw new _e(`${t.id} is not unpadded base64url of the right length`);return r}function Nr(e,t,...n){if(!(e instanceof Map))
throw new _e("unexpected JSON: an object belongs here");for(let r of e.keys())if(!n.includes(r)&&!t.includes(r))throw new _e(`unexpected JSON: unknown field ${JSON.
stringify(r)}`);return t.map(r=>{if(!e.has(r))throw new _e(`unexpected JSON: field ${r} is missing`);return e.get(r)})}var Ja=60,Mr=10,Cr=Symbol("trefoil: dangerous: any nonce"),$o={trustRoot:!0,audience:!0,nonce:!0,tenant:!1,account:!1,requestDigest:!1,decision:!1,probeMode:!1,
proofLevel:!1,acceptNoProof:!1,policyVersion:!1,fmrClass:!1,clockSkew:!1},Gt=class{trustRoot;audience;nonce;tenant;account;requestDigest;decision;probeMode;proofLevel;policyVersion;fmrClass;clockSkew;constructor(t){
Za(t);let{trustRoot:n,audience:r,nonce:f,tenant:o,account:c,requestDigest:s}=t,{decision:i="match",probeMode:h,proofLevel:E,policyVersion:g,fmrClass:A=0}=t,{acceptNoProof:_=!1,
clockSkew:S=Mr}=t;if(!(n instanceof Ve))throw new TypeError("trustRoot must be a TrustRoot");if(typeof r!="string"||!An(r,Qe))throw new TypeError("audience must\
 be text of 1 to 255 bytes without control characters");if(i!=="match"&&i!=="any")throw new TypeError('decision must be "match" or "any"');if(h!==void 0&&h!=="p\
lain"&&h!=="shared")throw new TypeError('probeMode must be "plain" or "shared"');if(typeof _!="boolean")throw new TypeError("acceptNoProof must be true or false");
if(_&&E!==void 0)throw new TypeError("proofLevel requires a proof and acceptNoProof none; leave one of them out");this.trustRoot=n,this.audience=r,this.nonce=f===
Cr?f:Dn("nonce",f,Br,Ur),this.tenant=o===void 0?void 0:Dn("tenant",o,16),this.account=c===void 0?void 0:Dn("account",c,32),this.requestDigest=s===void 0?void 0:
Dn("requestDigest",s,32),this.decision=i==="any"?void 0:i,this.probeMode=h,this.proofLevel=_?void 0:yn("proofLevel",E??0,un),this.policyVersion=g===void 0?void 0:
Object.freeze({id:yn("policyVersion.id",g.id,ot),version:yn("policyVersion.version",g.version,ot)}),this.fmrClass=yn("fmrClass",A,un),this.clockSkew=BigInt(yn("\
clockSkew",S,Ja)),Object.freeze(this)}};function Za(e){for(let[t,n]of Object.entries(e)){if(!Object.hasOwn($o,t))throw new TypeError(`unknown requirement ${t}; \
correct its name`);if(n==null)throw new TypeError(`requirement ${t} has no value; leave it out where it is not required`)}for(let[t,n]of Object.entries($o))if(n&&
!Object.hasOwn(e,t))throw new TypeError(`requirement ${t} is missing`)}function Dn(e,t,n,r=n){if(!Ct(t)||t.length<n||t.length>r){let f=n===r?`${n}`:`${n} to ${r}`;
throw new TypeError(`${e} must be a Uint8Array of ${f} bytes`)}return new Uint8Array(t)}function yn(e,t,n){if(!Number.isInteger(t)||t<0||t>n)throw new RangeError(
`${e} must be a whole number from 0 to ${n}`);return t}var He=class e extends Error{name="VerifyError";code;seal;constructor(t,n,r={}){super(n,r.cause&&{cause:r.cause}),this.code=t,this.seal=r.seal}static undecodable(t){
return t.problem==="unknown-suite"?new e("unknown-suite",t.explanation,{cause:t}):new e("malformed",`not a valid attestation: ${t.message}`,{cause:t})}static signature(t){
return new e(`signature-${t.id}`,`the ${t.name} signature does not verify; do not accept`)}};var Qa=[Hn,_t,jn],qo,zo=class e{statement;statementDigest;leafIndex;seal;constructor(t,n,r,f){this.statement=t,this.statementDigest=n,this.leafIndex=r,this.seal=
f,Object.freeze(this)}static{qo=(...t)=>new e(...t)}};function Vo(e,t,n){return Go(t,n),Yo(e,void 0,t,n)}function Wo(e,t,n,r){return Go(n,r),Kn(t),Yo(e,t,n,r)}function ei(e,t){
if(Kn(e),!(t instanceof Ve))throw new TypeError("trustRoot must be a TrustRoot");let{header:n}=e;if(n.issuer!==t.issuer)throw $n(n.issuer);let{publicKeys:r}=fi(
n,t);for(let f of Qa)if(!e.isSignedBy(f,r[f.id]))throw He.signature(f)}function Go(e,t){if(!(e instanceof Gt))throw new TypeError("policy must be a Policy");Hr(
t)}function Kn(e){if(!(e instanceof kt))throw new TypeError("seal must be a Seal; make one with Seal.decode")}function Hr(e){if(!Number.isSafeInteger(e)||e<0)throw new RangeError(
"now must be whole Unix seconds")}function pn(e){try{return e()}catch(t){throw t instanceof Ye?He.undecodable(t):t}}function jr({evidence:e},t,n){if(t===void 0){
if(e.form==="full")return e.seal;let{sealNumber:c}=e.reference,s=`compact ${n}; fetch seal ${c} from the issuer and pass it too`;throw new He("seal-needed",s,{seal:e.
reference})}let r=e.form==="full"?e.seal.reference():e.reference,f=t.reference();if(r.sealNumber===f.sealNumber&&Me(r.digest,f.digest))return t;let o=`the seal \
passed is not the one named; fetch seal ${r.sealNumber} from the issuer`;throw new He("other-seal",o,{seal:r})}function Pr({statement:e,leafIndex:t,treeSize:n,path:r},f,o,c,s){
let{header:i}=c,h=f==="receipt"?"change":"statement";ye(i.suite!==o,"suite-mismatch",`${h} and seal name different suites; do not accept`),ye(i.treeSize!==n,"tr\
ee-size-mismatch",`${f} and seal name different tree sizes; do not accept`);let E=mo(e);return ye(!Ao(E,t,n,r,i.root),"not-in-tree",`the ${h} is not in the seal\
ed tree; do not accept`),ei(c,s),E}function ye(e,t,n){if(e)throw new He(t,n)}function Yo(e,t,n,r){let f=pn(()=>Mt(e)),o=jr(f,t,"attestation"),c=pn(()=>Pn(f.statement)),
{header:s}=o;ti(c,n),ni(c,n),ri(c,s,n.clockSkew,BigInt(r));let i=Pr(f,"attestation",c.suite,o,n.trustRoot);return qo(c,i,f.leafIndex,s)}function $n(e){return new He(
"issuer",`issued by ${e}, not by the trust root's issuer; do not accept`)}function ti(e,t){let{issuer:n,audience:r}=e,{nonce:f,tenant:o,account:c,requestDigest:s}=t;
if(n!==t.trustRoot.issuer)throw $n(n);ye(r!==t.audience,"audience",`made for ${r}, not for this relying party; do not accept`),ye(f!==Cr&&!Me(f,e.nonce),"nonce",
"the nonce is not the one issued; treat as a replay"),ye(o!==void 0&&!Me(o,e.tenant),"tenant","another tenant than required; do not accept"),ye(c!==void 0&&!Me(
c,e.account),"account","another account than required; do not accept"),ye(s!==void 0&&!Me(s,e.requestDigest),"request-digest","made for another request; do not \
accept")}function ni(e,t){let{decision:n,probeMode:r,proof:f,policyId:o,policyVersion:c,fmrClass:s}=e,{proofLevel:i,policyVersion:h}=t;ye(t.decision!==void 0&&t.
decision!==n,"decision",`the decision is ${n}; nobody was authenticated`),ye(t.probeMode!==void 0&&t.probeMode!==r,"probe-mode",`probe mode ${r} is not the requ\
ired one`),ye(i!==void 0&&f===void 0,"no-proof","no credential proof: the tenant's application alone vouched for the request; do not accept, unless your policy \
says that this is enough"),ye(i!==void 0&&f!==void 0&&f.level<i,"proof-level","the credential proof is below the required level; ask for a step-up"),ye(h!==void 0&&
(o!==h.id||c<h.version),"policy-version","made under another policy or an older version; authenticate again"),ye(s<t.fmrClass,"fmr-class",`false-match class ${s}\
 is weaker than required`)}function ri(e,t,n,r){let{issuedAt:f,expiresAt:o}=e,c=r+n;ye(f>c,"not-yet-valid",`issued at ${f}, in the future; check the clocks`),ye(
r>=o+n,"expired",`expired at ${o}; authenticate again`),ye(t.time>c||t.time+n<f,"seal-time",`sealed at ${t.time}, before its statement or in the future`)}function fi(e,t){
let{keySetId:n,time:r}=e,f=`key set ${yt(n)}`,o=t.keySet(n);if(o===void 0){let h=`${f} is not in the trust root; update it from the issuer`;throw new He("unknow\
n-key-set",h)}let{status:c,notBefore:s,notAfter:i}=o;if(c.state!=="active"){let{state:h,since:E}=c;ye(h==="revoked","revoked-key-set",`${f} is revoked since ${E}\
; do not accept`),ye(r>=E,"retired-key-set",`${f} was retired at ${E}, before this seal; do not accept`)}return ye(r<s||r>=i,"key-set-validity",`sealed at ${r},\
 outside the validity of ${f}`),o}var Xo=255,oi=64,ci="trefoil:change/1";function lt(e,t){return n=>n.bytes(`what.${e}`,t)}function ut(e,t=ot){return n=>n.number(`what.${e}`,t)}function Jo(e){return t=>t.
uint(`what.${e}`)}var zn=lt("handle",32),gn=ut("generation"),Zo=lt("consent",32),Qo=lt("digest",32),ec=lt("session",32),tc=lt("key",8),nc=ut("epoch"),qn=lt("ope\
rator",8),rc=ut("token");function si(e){let t=e.offset,n=sc(e.uint("what.action"));if(n===void 0||n==="refused")throw e.outOfRange("what.action",t);return n}var cc={
enrolled:{handle:zn,generation:gn,consent:Zo},erased:{handle:zn,generation:gn},root_published:{generation:gn,generationMin:ut("generation_min"),root:lt("root",32),
head:lt("head",32)},policy_changed:{policyId:ut("policy_id"),policyVersion:ut("policy_version"),policyDigest:Qo},session_opened:{session:ec,expiresAt:Jo("expire\
s_at")},session_ended:{session:ec},tenant_created:{policyDigest:Qo},tenant_disabled:{},tenant_enabled:{},api_key_created:{apiKey:tc,scopes:ut("scopes",Xo)},api_key_revoked:{
apiKey:tc},issuer_key_registered:{issuerKey:lt("key",32)},key_rotation_begun:{epoch:nc},key_rotation_ended:{epoch:nc},malformed_reset:{},operator_created:{operator:qn,
role:ut("role",Xo)},operator_revoked:{operator:qn},operator_token_created:{operator:qn,token:rc},operator_token_revoked:{operator:qn,token:rc},refused:{action:si},
tenant_deleted:{templates:Jo("templates")},attempts_reset:{},replaced:{handle:zn,generation:gn,replaced:ut("replaced"),consent:Zo},revoked:{handle:zn,generation:gn}},
fc=Object.keys(cc);function sc(e){return e>BigInt(fc.length)?void 0:fc[Number(e)-1]}function ac(e){let t=Pe.of("change",e,bn);t.map("change",5);let n=t.key("iss",1).text("iss",Qe),r=t.key("iat",6).uint("iat"),f=t.key("cti",7).bytes("cti",16);t.
key("eat_profile",265).format("eat_profile",ci);let o=t.key("trefoil",Wt).map("trefoil",4,5),c=ln(t.key("suite",1)),s=t.key("tenant",2).bytes("tenant",16),i=t.key(
"kind",3).uint("kind"),h=Object.freeze(ii(i,t.key("what",4))),E=o===5?Object.freeze(ai(t.key("by",5))):void 0;return t.finish("change"),Object.freeze({suite:c,issuer:n,
tenant:s,changedAt:r,salt:f,what:h,by:E})}function ai(e){return e.array("by",2),{operator:e.bytes("by.operator",8),name:e.text("by.name",oi)}}function ic(e){try{
return ac(Mt(e).statement)}catch(t){if(t instanceof Ye)return;throw t}}function ii(e,t){let n=sc(e);if(n===void 0)throw t.outOfRange("kind");let r=Object.entries(
cc[n]);return t.array("what",r.length),{kind:n,...Object.fromEntries(r.map(([f,o])=>[f,o(t)]))}}var dc,oc=class e{change;digest;leafIndex;seal;constructor(t,n,r,f){
this.change=t,this.digest=n,this.leafIndex=r,this.seal=f,Object.freeze(this)}static{dc=(...t)=>new e(...t)}};function bc(e,t,n,r){return lc(t,n,r),hc(e,void 0,t,
n,r)}function uc(e,t,n,r,f){return lc(n,r,f),Kn(t),hc(e,t,n,r,f)}function lc(e,t,n){if(!(e instanceof Ve))throw new TypeError("trustRoot must be a TrustRoot");if(t!==
void 0&&!(Ct(t)&&t.length===16))throw new TypeError("tenant must be a Uint8Array of 16 bytes, or undefined");Hr(n)}function hc(e,t,n,r,f){let o=pn(()=>Mt(e)),c=jr(
o,t,"receipt"),s=pn(()=>ac(o.statement)),{header:i}=c;if(s.issuer!==n.issuer)throw $n(s.issuer);ye(r!==void 0&&!Me(s.tenant,r),"tenant","another tenant than req\
uired; do not accept");let h=BigInt(Mr),{changedAt:E}=s,g=BigInt(f)+h;ye(E>g,"not-yet-valid",`done at ${E}, in the future; check the clocks`),ye(i.time>g||i.time+
h<E,"seal-time",`sealed at ${i.time}, before its change or in the future`);let A=Pr(o,"receipt",s.suite,c,n);return dc(s,A,o.leafIndex,i)}var We=class extends Error{name="InputError"};function pc(e){let t=Dr(e);if(t===void 0||t==="")return e;if(t.startsWith("{")){let n=di(t),r=typeof n=="string"?yc(
n):void 0;if(r===void 0)throw new We("This JSON has no field \u201Cattestation\u201D with base64 in it, alone or in \u201Creceipt\u201D.");return r}return yc(t)??
e}function gc(e){let t=e.trim().toLowerCase();if(!/^(?:[0-9a-f]{2}){16,64}$/.test(t))throw new We("The nonce is 32 to 128 hexadecimal digits: the one that you i\
ssued for this login.");return Uint8Array.from({length:t.length/2},(n,r)=>Number.parseInt(t.slice(2*r,2*r+2),16))}function Dr(e){try{return new TextDecoder("utf\
-8",{fatal:!0}).decode(e).trim()}catch{return}}function di(e){try{let t=JSON.parse(e);return t.attestation??t.receipt?.attestation}catch{throw new We("This begi\
ns like JSON and is not JSON: copy all of it.")}}function yc(e){let t=e.replace(/\s/g,"").replaceAll("+","-").replaceAll("/","_").replace(/={1,2}$/,"");return xn(
t)}var bi="No credential proof: that the request was this person's is the word of the tenant's application alone. A relying party that expects a proof must not acc\
ept it.";function mc(e,t){let{statement:n,seal:r}=e,f=n.decision==="match",o=Oe("div","",`outcome ${f?"good":"attested-denial"}`),c=n.proof===void 0?", without \
a credential proof":"";return o.append(Oe("h2",`${f?"Verified: match":"Verified: no match"}${c}`),Oe("p",f?"The holder of this account was authenticated.":"The \
service attests a denial: nobody was authenticated.")),n.proof===void 0&&o.append(Oe("p",bi)),o.append(...xc(t)),o.append(Ac([["Issuer",n.issuer],["Audience",n.
audience],["Account",n.account],["Proof",n.proof===void 0?"none":`level ${n.proof.level}`],["Session",n.proof?.session??"none"],["Tenant",n.tenant],["Nonce",n.nonce],
["Issued",mn(n.issuedAt)],["Expires",mn(n.expiresAt)],...Ec(r,e.leafIndex)]),Oe("p","Keep the account: it is the same at every login of this person here. Sessio\
n and nonce are not.")),o}function wc(e,t){let{change:n,seal:r}=e,{kind:f}=n.what,o=Oe("div","","outcome good");return o.append(Oe("h2",`Verified receipt: ${ui[f]??
f.replaceAll("_"," ")}`),Oe("p",f==="refused"?"The service attests that it refused this change, and changed nothing.":"The service attests that it made this cha\
nge. It says nothing about a login."),...xc(t),Ac([["Issuer",n.issuer],["Tenant",n.tenant.every(c=>c===0)?"none: the service itself":n.tenant],...pi(n.what),...n.
by?[["By",`${n.by.name} (${yt(n.by.operator)})`]]:[],["Done",mn(n.changedAt)],...Ec(r,e.leafIndex)]),Oe("p","Compare tenant and what was done with what you expe\
ct: this page does not know it.")),o}var ui={enrolled:"subject enrolled",erased:"subject erased",root_published:"credential root published",replaced:"template r\
eplaced",revoked:"subject revoked"},li={handle:"Subject",generation:"Generation",generationMin:"Accepted from generation",replaced:"In place of generation",consent:"\
Consent digest",root:"Credential root",head:"Log head",policyId:"Policy",policyVersion:"Policy version",policyDigest:"Policy digest",session:"Session",expiresAt:"\
Ends",apiKey:"API key",scopes:"Scopes",issuerKey:"Issuer key",epoch:"Epoch",operator:"Operator",role:"Role",token:"Token",templates:"Templates destroyed",action:"\
Change"},hi=["unknown","viewer","operator","owner"],yi=["enrol","authenticate","issue"];function pi(e){return Object.entries(e).flatMap(([n,r])=>n==="kind"?[]:[
[li[n],gi(n,r)]])}function gi(e,t){if(t instanceof Uint8Array)return t;switch(e){case"expiresAt":return mn(BigInt(t));case"scopes":return yi.filter((n,r)=>(Number(
t)>>r)%2===1).join(", ");case"role":return hi[Number(t)]??"unknown";default:return`${t}`.replaceAll("_"," ")}}function xc(e){let t=Oe("ul","");return t.append(...St.
map(({name:r})=>Oe("li",`${r} signature verifies`))),e?[t,Oe("p","The trust root came from this server. That shows consistency, not who the issuer is.")]:[t]}function Ec(e,t){
return[["Sealed",`${mn(e.time)}, seal ${e.sealNumber}`],["Root",e.root],["Place",`leaf ${t} of ${e.treeSize}`],["Key set",e.keySetId]]}function Ac(e){let t=Oe("\
dl","");for(let[n,r]of e){let f=typeof r=="string"?Oe("dd",r):Oe("dd",yt(r),"bytes");t.append(Oe("dt",n),f)}return t}function wn(e,t,n){let r=Oe("div","","outco\
me refused");return r.setAttribute("role","alert"),r.append(Oe("h2",e),Oe("p",t)),n!==void 0&&r.append(Oe("p",`Code: ${n}`)),r}function mn(e){let t=new Date(Number(
e)*1e3);return Number.isNaN(t.getTime())?`${e} s`:t.toISOString().replace(".000Z","Z")}function Oe(e,t,n=""){let r=document.createElement(e);return r.textContent=
t,n!==""&&(r.className=n),r}var mi=512*1024,Kr=Ge("form",HTMLFormElement),Vn=Ge("outcome",HTMLElement),$r=Ge("attestation",HTMLTextAreaElement),_c=Ge("attestation-state",HTMLElement),Wn=Ge(
"trust-root",HTMLTextAreaElement),zr,Gn;function Ge(e,t){let n=document.getElementById(e);if(!(n instanceof t))throw new Error(`the page has no ${e}`);return n}
function qr(e){return String(new FormData(Kr).get(e))}async function wi(){let e=zr??new TextEncoder().encode($r.value);if(e.length===0)throw new We("Paste an at\
testation, or drop a file.");let t=pc(e),n=ic(t);return n===void 0?xi(t):Ei(t,n)}async function xi(e){let t=Ge("audience",HTMLInputElement).value.trim();if(t===
"")throw new We("Enter the audience: the relying party that the attestation must be for.");let n=gc(Ge("nonce",HTMLInputElement).value),r=await Sc(),f=new Gt({trustRoot:r,
audience:t,nonce:n,decision:"any",acceptNoProof:!0}),o=kc(()=>_i(e)),c=await Oc(()=>Vo(e,f,o),s=>Wo(e,s,f,o));return mc(c,Vr())}async function Ei(e,t){let n=await Sc(),
r=kc(()=>Number(t.changedAt)),f=await Oc(()=>bc(e,n,void 0,r),o=>uc(e,o,n,void 0,r));return wc(f,Vr())}function Vr(){return qr("root")==="served"}async function Sc(){
return Vr()?Ai():Ti()}function kc(e){return qr("time")==="issued"?e():Math.floor(Date.now()/1e3)}async function Oc(e,t){try{return e()}catch(n){if(!(n instanceof
He)||n.code!=="seal-needed"||n.seal===void 0)throw n;let r=await Lc(`/v1/seals/${n.seal.sealNumber}`,`seal ${n.seal.sealNumber}`);return t(kt.decode(new Uint8Array(
await r.arrayBuffer())))}}async function Ai(){let e=await Lc("/v1/keys","the trust root");return Ve.fromJson(await e.text())}function Ti(){if(Gn!==void 0)return Ve.
decode(Gn);if(Wn.value.trim()==="")throw new We("Paste your trust root, or choose its file.");return Ve.fromJson(Wn.value)}async function Lc(e,t){let n=await fetch(
e,{credentials:"omit"}).catch(()=>{});if(n?.ok)return n;throw new We(`This server did not give ${t}${n?` (status ${n.status})`:""}; try again.`)}function _i(e){
try{return Number(Pn(Mt(e).statement).issuedAt)}catch(t){throw t instanceof Ye?He.undecodable(t):t}}function Wr(e){return e instanceof He?wn("Not verified",e.message,
e.code):e instanceof _e||e instanceof Ye?wn("The trust root cannot be read",e.message):e instanceof We?wn("Nothing was verified yet",e.message):wn("Nothing was \
verified",`Unexpected: ${String(e)}`)}async function vc(e,t){if(e.size>mi)throw new We(`${e.name} is too large: ${e.size} bytes.`);let n=new Uint8Array(await e.
arrayBuffer()),r=Dr(n),f=r!==void 0&&/^[\x20-\x7e\s]*$/.test(r);return t.value=f?r:"",f?void 0:n}async function Bc(e){if(e!==void 0)try{zr=await vc(e,$r),_c.textContent=
`${e.name}, ${e.size} bytes`}catch(t){Vn.replaceChildren(Wr(t))}}Kr.addEventListener("submit",async e=>{e.preventDefault(),Vn.replaceChildren(await wi().catch(Wr)),
Vn.focus()});Kr.addEventListener("change",()=>{let e=qr("root")==="own";Ge("own-root",HTMLElement).hidden=!e,Ge("served-note",HTMLElement).hidden=e});$r.addEventListener(
"input",()=>{zr=void 0,_c.textContent=""});Wn.addEventListener("input",()=>{Gn=void 0});Ge("attestation-file",HTMLInputElement).addEventListener("change",e=>{Bc(
e.currentTarget.files?.[0])});Ge("trust-root-file",HTMLInputElement).addEventListener("change",async e=>{let t=e.currentTarget.files?.[0];try{t!==void 0&&(Gn=await vc(
t,Wn))}catch(n){Vn.replaceChildren(Wr(n))}});var Tc=Ge("drop",HTMLElement);for(let e of["dragover","dragleave","drop"])Tc.addEventListener(e,t=>{t.preventDefault(),
Tc.classList.toggle("over",e==="dragover"),e==="drop"&&Bc(t.dataTransfer?.files[0])});
