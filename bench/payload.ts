/**
 * The 800 bytes of JSON that every figure sends. Three values are at fixed positions, so that the load
 * generator patches digits in a buffer and the sink reads them without parsing: run (which measurement),
 * number (which event of it) and the microsecond at which it was due, by the clock that all processes of a
 * machine share.
 */
export const PAYLOAD_BYTES = 800;

const START = '{"run":"0000","number":"0000000000","sent":"0000000000000000","note":"';
const END = '"}';

export const PAYLOAD = `${START}${'x'.repeat(PAYLOAD_BYTES - START.length - END.length)}${END}`;

interface Field {
  at: number;
  digits: number;
}

export const RUN: Field = { at: START.indexOf('0000"'), digits: 4 };
export const NUMBER: Field = { at: START.indexOf('number":"') + 9, digits: 10 };
export const SENT: Field = { at: START.indexOf('sent":"') + 7, digits: 16 };

const ZERO = 0x30;

export function writeField(buffer: Buffer, from: number, { at, digits }: Field, value: number): void {
  let rest = value;
  for (let i = from + at + digits - 1; i >= from + at; i--) {
    buffer[i] = ZERO + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}

export function readField(buffer: Buffer, from: number, { at, digits }: Field): number {
  let value = 0;
  for (let i = from + at; i < from + at + digits; i++) value = value * 10 + (buffer[i] as number) - ZERO;
  return value;
}

/** Microseconds of the machine's monotonic clock: the same in every process. */
export function sharedMicros(): number {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1e6 + Math.floor(nanos / 1e3);
}
