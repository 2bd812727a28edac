import { describe, expect, test } from "vitest";
import { refusalOfAddress } from "../../../src/shared/access/outgoing.ts";

const PUBLIC = [
  "https://ci.example.com/hook",
  "https://ci.example.com:443/hook?x=1",
  "https://ci.example.com:8443/hook",
];
const LOCAL = [
  "http://127.0.0.1:8080/hook",
  "http://localhost:8080/",
  "https://localhost/",
  "http://10.1.2.3/",
  "http://192.168.0.7:3000/",
  "http://172.31.0.1/",
  "http://169.254.169.254/latest/meta-data",
  "http://100.64.0.1/",
  "http://[::1]:8080/",
  "http://[fd00::1]/",
  "http://[fe80::1]/",
  "http://build-box:8080/",
  "http://nas.local/",
  "https://db.internal./",
  "http://0x7f.1/", // URLs spell it 127.0.0.1
  "http://2130706433/",
];
const NEVER: [url: string, says: string][] = [
  ["ftp://example.com/", "https URL"],
  ["javascript:alert(1)", "https URL"],
  ["nothing", "must be a URL"],
  ["https://user@example.com/", "no user name"],
  ["https://:secret@example.com/", "no user name"],
  ["https://example.com/#part", "no fragment"],
  ["http://example.com/", "https URL"],
  ["https://example.com:8080/", "port 443 or 8443"],
  ["https://example.com:22/", "port 443 or 8443"],
  ["https://8.8.8.8/", "not an IP address"],
  ["https://[2606:4700::1111]/", "not an IP address"],
  ["https://[::ffff:127.0.0.1]/", "not an IP address"],
  ["http://172.32.0.1/", "not an IP address"],
  ["http://0.0.0.0/", "not an IP address"],
];

describe("an address outside, of a receiver or an issuer (webhooks.md#addresses)", () => {
  test.each(PUBLIC)("%s is allowed everywhere", (url) => {
    expect([refusalOfAddress(url, false), refusalOfAddress(url, true)]).toEqual([undefined, undefined]);
  });

  test.each(LOCAL)("%s is allowed only where local ones are", (url) => {
    expect(refusalOfAddress(url, false)).toMatch(/public name|IP address/);
    expect(refusalOfAddress(url, true)).toBeUndefined();
  });

  test.each(NEVER)("%s is allowed nowhere", (url, says) => {
    for (const allowLocal of [false, true]) expect(refusalOfAddress(url, allowLocal)).toContain(says);
  });
});
