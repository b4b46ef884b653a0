/** Why an event or a delivery failed in a function, as it is stored: whose function it was, and the words of its error. */
const FAILED = {
  source: 'A function of the source failed',
  subscription: "The subscription's function failed",
} as const;
const CANCELLED = "The subscription's function cancelled it";

export function functionFailure(owner: keyof typeof FAILED, message: string): string {
  return `${FAILED[owner]}: ${message}`;
}

/** Why a delivery is not sent: a function does not want it. */
export const functionCancelled = (reason: string): string => `${CANCELLED}: ${reason}`;

/** A stored reason without the words of the function's error, which may quote the payload. */
export function withoutFunctionMessage(reason: string): string {
  for (const text of [...Object.values(FAILED), CANCELLED]) {
    const at = reason.indexOf(`${text}: `);
    if (at >= 0) return reason.slice(0, at + text.length);
  }
  return reason;
}
