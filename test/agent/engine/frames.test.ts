import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Demultiplexer } from "../../../agent/engine/frames.ts";

function frame(stream: number, content: string | Buffer): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt8(stream, 0);
  header.writeUInt32BE(Buffer.byteLength(content), 4);
  return Buffer.concat([header, Buffer.from(content)]);
}

/** What comes of these pieces, each stream in one text. */
function read(pieces: Buffer[]): { stdout: string; stderr: string; whole: boolean } {
  const demultiplexer = new Demultiplexer();
  const text = { stdout: "", stderr: "" };
  for (const piece of pieces) {
    for (const { stream, data } of demultiplexer.push(piece)) text[stream] += data.toString("latin1");
  }
  return { ...text, whole: demultiplexer.whole };
}

describe("engine.md#frames: the output of a container", () => {
  const stream = Buffer.concat([
    frame(1, "one"),
    frame(2, "two"),
    frame(1, ""),
    frame(0, "three"),
    frame(1, "\xff\0"),
  ]);
  const content = { stdout: "onethree\xc3\xbf\0", stderr: "two", whole: true };

  test("however it is split, each stream has its bytes", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length), { maxLength: 20 }), (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), stream.length];
        const pieces = at.slice(1).map((end, index) => stream.subarray(at[index], end));
        expect(read(pieces)).toEqual(content);
      }),
    );
  });

  test("byte by byte as well", () => {
    expect(read([...stream].map((byte) => Buffer.from([byte])))).toEqual(content);
  });

  test.each([
    ["in a header", 5, false],
    ["after a header", 8, false],
    ["in the content", 10, false],
    ["after the content", 11, true],
  ])("what ends %s is told from what ended well", (_, bytes, whole) => {
    expect(read([stream.subarray(0, bytes)]).whole).toBe(whole);
  });

  test.each([
    ["a text", Buffer.from("no frames at all")],
    ["a stream without a name", frame(4, "x")],
    ["something where zeros should be", Buffer.from([1, 0, 1, 0, 0, 0, 0, 1])],
    ["a complaint without end", Buffer.from([3, 0, 0, 0, 255, 0, 0, 0])],
  ])("%s is not taken for output", (_, bytes) => {
    expect(() => read([bytes])).toThrow(expect.objectContaining({ kind: "not_engine" }));
  });

  test("the engine's own complaint is an error, and what came before is not lost", () => {
    const demultiplexer = new Demultiplexer();
    expect(demultiplexer.push(frame(1, "before"))).toHaveLength(1);
    const complaint = frame(3, "error from daemon in stream: the file is gone");
    demultiplexer.push(complaint.subarray(0, 20));
    expect(() => demultiplexer.push(complaint.subarray(20))).toThrow(
      expect.objectContaining({ kind: "server", said: "error from daemon in stream: the file is gone" }),
    );
    expect(() => new Demultiplexer().push(frame(3, ""))).toThrow("cannot read the output");
  });
});
