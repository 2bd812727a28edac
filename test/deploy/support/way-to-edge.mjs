// Loaded into the command: https addresses of the fake account lead to its edge.
const { fetch: real } = globalThis;
const edge = process.env.FAKE_EDGE;
const HOSTS = /(?:\.workers\.dev|\.acme\.example|drover\.example\.com)$/;

globalThis.fetch = (input, init) => {
  const request = new Request(input, init);
  const url = new URL(request.url);
  if (edge === undefined || url.protocol !== "https:" || !HOSTS.test(url.hostname)) return real(input, init);
  const headers = new Headers(request.headers);
  headers.set("x-fake-host", url.hostname);
  return real(`${edge}${url.pathname}${url.search}`, { ...init, headers });
};
