/**
 * The 800 bytes of JSON that every figure sends: an order of a shop. Values are at fixed positions, so that
 * the load generator patches digits in a buffer and the sink reads them without parsing: run (which
 * measurement), number (which event of it) and the microsecond at which it was due, by the clock that all
 * processes of a machine share. The ids of the order contain the number, so no two payloads are alike.
 */
const START = '{"run":"0000","number":"0000000000","sent":"0000000000000000",';
const ORDER = {
  order: {
    id: 'ord_8F3kQz0000000000',
    status: 'paid',
    placed_at: '2026-03-14T09:26:53.589Z',
    currency: 'EUR',
    customer: { id: 'cus_Lw71M9tRe', name: 'Mathilde Koehler', email: 'm.koehler@example.com' },
    ship_to: { street: 'Vesterbrogade 112, 3. tv', city: 'Copenhagen V', postcode: '1620', country: 'DK' },
    items: [
      { sku: 'TEA-0417', title: 'Darjeeling First Flush, 250 g', quantity: 2, price: '18.90', vat: '7.56' },
      { sku: 'POT-1032', title: 'Cast-iron teapot, black, 1.2 l', quantity: 1, price: '64.00', vat: '12.80' },
      { sku: 'CUP-2210', title: 'Stoneware cup, blue', quantity: 4, price: '9.75', vat: '7.80' },
    ],
    shipping: '6.50',
    total: '147.30',
    payment: { method: 'card', brand: 'visa', last4: '4242', reference: 'pi_3Nq5YtK20000000000' },
  },
};

export const PAYLOAD = START + JSON.stringify(ORDER).slice(1);
export const PAYLOAD_BYTES = PAYLOAD.length;

interface Field {
  at: number;
  digits: number;
}

const fieldAfter = (text: string, digits: number): Field => ({
  at: PAYLOAD.indexOf(text) + text.length,
  digits,
});

export const RUN = fieldAfter('"run":"', 4);
export const NUMBER = fieldAfter('"number":"', 10);
export const SENT = fieldAfter('"sent":"', 16);
const NUMBERS = [NUMBER, fieldAfter('ord_8F3kQz', 10), fieldAfter('pi_3Nq5YtK2', 10)];

const ZERO = 0x30;

export function writeField(buffer: Buffer, from: number, { at, digits }: Field, value: number): void {
  let rest = value;
  for (let i = from + at + digits - 1; i >= from + at; i--) {
    buffer[i] = ZERO + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}

/** Makes the payload at `from` that of the event with this number. */
export function writeEvent(buffer: Buffer, from: number, event: { number: number; dueMicros: number }): void {
  for (const field of NUMBERS) writeField(buffer, from, field, event.number);
  writeField(buffer, from, SENT, event.dueMicros);
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
