import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  itemsAt,
  MAX_DEPTH,
  MAX_ELEMENTS,
  MAX_PART_CHARS,
  MAX_TAG_CHARS,
  readXml,
  textAt,
  type XmlElement,
} from "../../src/providers/ec2/xml.ts";

// The reader of EC2's answers (clouds/ec2.md#answers): it reads whole, well-formed XML, and calls everything
// else by its name.

function root(text: string): XmlElement {
  const read = readXml(text);
  if ("fault" in read) throw new Error(read.fault);
  return read.root;
}
const faultOf = (text: string) => {
  const read = readXml(text);
  return "fault" in read ? read.fault : "none";
};

const ANSWER = `<?xml version="1.0" encoding="UTF-8"?>
<!-- by <hand> -->
<Answer xmlns="http://ec2.amazonaws.com/doc/2016-11-15/" b='">'>
  <reservationSet>
    <item><a.b-c>one</a.b-c></item>
    <item><name>a &amp; b &lt;c&gt; &#233;&#x1F411; &quot;&apos;</name><empty/><void></void></item>
  </reservationSet>
  <code><![CDATA[a < b && c]]> d</code>
  <nextToken/>
</Answer>
`;

describe("whole XML is read", () => {
  it("with lists, entities, comments, character data and empty elements", () => {
    const answer = root(ANSWER);
    expect(answer.name).toBe("Answer");
    const items = itemsAt(answer, "reservationSet") ?? [];
    expect(items.map((item) => textAt(item, "name") ?? textAt(item, "a.b-c"))).toEqual([
      "one",
      `a & b <c> é🐑 "'`,
    ]);
    expect(textAt(answer, "code")).toBe("a < b && c d");
    expect([textAt(answer, "nextToken"), textAt(answer, "nothing"), itemsAt(answer, "nothing")]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(itemsAt(answer, "nextToken")).toEqual([]);
  });

  it("of any texts and names, as they were written", () => {
    const name = fc.stringMatching(/^[A-Za-z_][\w.-]{0,12}$/).filter((one) => !/^html$/i.test(one));
    const text = fc.stringMatching(/^[!-~é🐑]{0,20}$/u);
    fc.assert(
      fc.property(name, fc.array(fc.tuple(name, text), { maxLength: 8 }), (outer, children) => {
        const escaped = (raw: string) => raw.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
        const inside = children.map(([inner, raw]) => `<${inner}>${escaped(raw)}</${inner}>`).join("\n");
        const found = root(`<${outer}>${inside}</${outer}>`).children.map((child) => [
          child.name,
          child.text,
        ]);
        expect(found).toEqual(children);
      }),
    );
  });
});

describe("anything else has a fault", () => {
  it.each([
    ["nothing", "", "is empty"],
    ["blanks", " \n ", "is empty"],
    ["a text", "Service Unavailable", "is not XML"],
    ["JSON", '{"message":"Forbidden"}', "is not XML"],
    ["a web page", "<!DOCTYPE html><html><body><br></body></html>", "is a web page, not XML"],
    ["a web page without a type", "<HTML><head></head></HTML>", "is a web page, not XML"],
    [
      "a document type with an entity of its own",
      '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
      "is a web page, not XML",
    ],
    ["an entity that XML does not have", "<a>&nbsp;</a>", "is not XML"],
    ["a lone ampersand", "<a>b & c</a>", "is not XML"],
    ["a character that XML does not have", "<a>&#0;</a>", "is not XML"],
    ["half of a character", "<a>&#xD83D;</a>", "is not XML"],
    ["a character beyond all", "<a>&#x110000;</a>", "is not XML"],
    ["tags that cross", "<a><b></a></b>", "is not XML"],
    ["one tag too many", "<a></a></a>", "is not XML"],
    ["two roots", "<a/><b/>", "is not XML"],
    ["text behind it", "<a/>b", "is not XML"],
    ["an unquoted attribute", "<a b=c></a>", "is not XML"],
    ["a lone bracket", "<a>1 < 2</a>", "is not XML"],
    ["an end without a beginning", "</a>", "is not XML"],
    ["a comment that does not end", "<a><!-- b</a>", "ends in the middle"],
    ["character data that do not end", "<a><![CDATA[ b</a>", "ends in the middle"],
  ])("%s", (_what, text, fault) => {
    expect(faultOf(text)).toBe(fault);
  });

  it("wherever it is cut short", () => {
    const whole = ANSWER.trim();
    for (let length = 0; length < whole.length; length += 1) {
      expect(faultOf(whole.slice(0, length)), `the first ${length} characters`).not.toBe("none");
    }
    expect(faultOf(whole)).toBe("none");
  });

  it("whatever it is made of, and it is never an exception", () => {
    const pieces = [
      "<a>",
      "</a>",
      "<",
      ">",
      "&",
      "&amp;",
      "<!--",
      "-->",
      "<![CDATA[",
      "]]>",
      "<?",
      "?>",
      '"',
      " ",
      "b",
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 30 }), (parts) => {
        expect(Object.keys(readXml(parts.join("")))).toHaveLength(1);
      }),
    );
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void readXml(text)));
  });
});

describe("it is bounded", () => {
  const nested = (depth: number) => "<a>".repeat(depth) + "</a>".repeat(depth);
  const many = (count: number) => `<a>${"<b/>".repeat(count - 1)}</a>`;

  it("in the lengths of tags and texts", () => {
    const tag = (length: number) => `<${"a".repeat(length - 3)}/>`;
    expect(faultOf(tag(MAX_TAG_CHARS))).toBe("none");
    expect(faultOf(tag(MAX_TAG_CHARS + 1))).toBe("is not XML");
    expect(faultOf(`<a>${"b".repeat(MAX_PART_CHARS)}</a>`)).toBe("none");
    expect(faultOf(`<a>${"b".repeat(MAX_PART_CHARS + 1)}</a>`)).toBe("has too long a text");
    expect(faultOf(`<a><![CDATA[${"b".repeat(MAX_PART_CHARS + 1)}]]></a>`)).toBe("has too long a text");
  });

  it("in depth and in elements", () => {
    expect(faultOf(nested(MAX_DEPTH))).toBe("none");
    expect(faultOf(nested(MAX_DEPTH + 1))).toBe("has too many elements");
    expect(faultOf(many(MAX_ELEMENTS))).toBe("none");
    expect(faultOf(many(MAX_ELEMENTS + 1))).toBe("has too many elements");
  });

  it.each([
    ["blanks in a tag", `<a ${" ".repeat(16_000_000)}`],
    ["an attribute without an end", `<a b="${"c".repeat(16_000_000)}`],
    ["attributes without a bracket", `<a ${'b="c" '.repeat(2_500_000)}`],
    ["brackets", "<".repeat(16_000_000)],
    ["ampersands", `<a>${"&".repeat(16_000_000)}</a>`],
    ["entities", `<a>${"&lt;".repeat(4_000_000)}`],
    ["a long name", `<${"a".repeat(16_000_000)}`],
  ])("in time, by the 16 MiB that an answer may have: %s", (_what, text) => {
    expect(faultOf(text)).not.toBe("none");
  });
});
