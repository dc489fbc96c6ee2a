// The service worker: keep the page and its model, so that it opens without a network. DIGEST changes with the files.
const scope = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));
const own = `clearhead ${scope.registration.scope} `, name = own + "DIGEST", files = ["./", "FILE"];

async function keep() {
  const cache = await caches.open(name);
  await cache.addAll(files.map((each) => new Request(each, { cache: each === "./" ? "no-cache" : "force-cache" })));
  await scope.skipWaiting();
}

async function forget() {
  for (const other of await caches.keys()) if (other.startsWith(own) && other !== name) await caches.delete(other);
  await scope.clients.claim();
}

async function answer(request) {
  const cache = await caches.open(name), page = request.mode === "navigate";
  return await cache.match(page ? "./" : request) ?? fetch(request);
}

scope.addEventListener("install", (event) => event.waitUntil(keep()));
scope.addEventListener("activate", (event) => event.waitUntil(forget()));
scope.addEventListener("fetch", (event) => event.respondWith(answer(event.request)));
