import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { words } from '../parts/languages/en.ts';
import { attemptResult, curlOf, timingParts } from './attempt.ts';

describe('a request as a curl command', () => {
  it('keeps quotes, line breaks and shell signs as they are', () => {
    const body = `{"a": "it's $HOME\\n\`id\` \\"x\\""}`;
    const request_http_header = { 'X-One': `a'b; rm "c"`, Host: 'left.out', 'X-Key': '***' };
    const command = curlOf({ method: 'POST', url: 'http://127.0.0.1/?a=1&b=2', request_http_header }, body);
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
      'Content-Type: application/json',
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
    const parts = timingParts({ timings, http_status: '200 OK', status: true, method: 'POST' });
    expect(parts).toEqual([
      ['Name', 2],
      ['Connect', 3],
      ['TLS', 10],
      ['First byte', 25],
      ['Rest', 10],
    ]);
  });

  it('name what is known of an attempt without an answer', () => {
    const timings = { dnsMs: 1, totalMs: 31 };
    expect(timingParts({ timings, http_status: '', status: false, method: 'POST' })).toEqual([
      ['Name', 1],
      ['No answer', 30],
    ]);
  });

  it('are one if a consumer reported the result', () => {
    const attempt = { timings: { totalMs: 31 }, http_status: '', status: true, error: '', method: '' };
    expect(timingParts(attempt)).toEqual([['In all', 31]]);
    expect(attemptResult(attempt, words.deliveries)).toBe('Reported as done');
  });

  it('end with the confirm if a broker took the message', () => {
    const timings = { connectMs: 20, firstByteMs: 31, totalMs: 31.2 };
    const attempt = { timings, http_status: '', status: true, error: '', method: 'PUBLISH' };
    expect(timingParts(attempt)).toEqual([
      ['Connect', 20],
      ['Confirm', 11],
    ]);
    expect(attemptResult(attempt, words.deliveries)).toBe('Confirmed by the broker');
    const failed = { ...attempt, status: false, timings: { connectMs: 20, totalMs: 31 } };
    expect(timingParts(failed)).toEqual([
      ['Connect', 20],
      ['No confirm', 11],
    ]);
  });
});
