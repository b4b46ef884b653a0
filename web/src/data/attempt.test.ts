import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { curlOf, timingParts } from './attempt.ts';

describe('a request as a curl command', () => {
  it('keeps quotes, line breaks and shell signs as they are', () => {
    const body = `{"a": "it's $HOME\\n\`id\` \\"x\\""}`;
    const headers = { 'X-One': `a'b; rm "c"`, Host: 'left.out' };
    const command = curlOf({ method: 'POST', url: 'http://127.0.0.1/?a=1&b=2', headers }, body);
    // The shell itself reads the words.
    const words = execFileSync('sh', ['-c', command.replace(/^curl/, `printf '%s\\0'`)])
      .toString()
      .split('\0');
    expect(words.slice(0, -1)).toEqual([
      '-i',
      '-X',
      'POST',
      'http://127.0.0.1/?a=1&b=2',
      '-H',
      `X-One: a'b; rm "c"`,
      '--data-raw',
      body,
    ]);
  });
});

describe('the parts of the time of an attempt', () => {
  it('add up to the whole', () => {
    const timings = { dnsMs: 2, connectMs: 3, tlsMs: 10, firstByteMs: 40, totalMs: 50 };
    const parts = timingParts({ timings });
    expect(parts).toEqual([
      ['Name', 2],
      ['Connect', 3],
      ['TLS', 10],
      ['First byte', 25],
      ['Rest', 10],
    ]);
  });

  it('name what is known of an attempt without an answer', () => {
    expect(timingParts({ timings: { dnsMs: 1, totalMs: 31 } })).toEqual([
      ['Name', 1],
      ['No answer', 30],
    ]);
  });
});
