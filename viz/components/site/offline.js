// The service worker, which keeps the page and its model, so that the page opens without a network.

/**
 * @param {*} scope  a ServiceWorkerGlobalScope
 * @param {string} digest  of the files, so that new ones replace the old
 * @param {string[]} files  addresses relative to the worker; the first is the page
 */
export function start(scope, digest, [page, ...others]) {
  const own = `clearhead ${scope.registration.scope} `, name = own + digest;

  async function keep() {
    const cache = await scope.caches.open(name);
    const asked = others.map((file) => new Request(file, { cache: "force-cache" }));   // the page has just loaded them
    await cache.addAll([new Request(page, { cache: "no-cache" }), ...asked]);
  }

  async function forget() {
    for (const other of await scope.caches.keys()) {
      if (other.startsWith(own) && other !== name) await scope.caches.delete(other);
    }
  }

  async function answer(request) {
    const cache = await scope.caches.open(name), opens = request.url === new URL(page, scope.location.href).href
      || request.url.endsWith("/index.html");
    return await cache.match(opens ? page : request) ?? fetch(request);
  }

  scope.addEventListener("install", (event) => event.waitUntil(keep()));
  scope.addEventListener("activate", (event) => event.waitUntil(forget()));
  scope.addEventListener("fetch", (event) => event.respondWith(answer(event.request)));
}
