/** Network errors by code, in words for the owner of the source. */
const BY_CODE: Record<string, string> = {
  ECONNREFUSED: 'The broker refused the connection: check the address and that it is running.',
  ECONNRESET: 'The broker closed the connection.',
  EPIPE: 'The broker closed the connection.',
  ETIMEDOUT: 'The broker does not answer.',
  EHOSTUNREACH: 'The broker cannot be reached.',
  ENETUNREACH: 'The broker cannot be reached.',
  EPROTO: 'The broker does not speak TLS on this port.',
  CERT_HAS_EXPIRED: "The broker's certificate has expired.",
  ERR_TLS_CERT_ALTNAME_INVALID: "The broker's certificate is for another name.",
};

const NOT_TRUSTED = "The broker's certificate is not trusted: POSTHORN_CA_FILE may name its authority.";

/** Looks for a network error among an error and its causes. Undefined: there is none. */
export function networkReason(errors: readonly (Error & { code?: unknown })[]): string | undefined {
  const known = errors
    .map(({ code }) => (typeof code === 'string' ? BY_CODE[code] : undefined))
    .find((text) => text !== undefined);
  return known ?? (errors.some(({ message }) => /certificate/i.test(message)) ? NOT_TRUSTED : undefined);
}

/** An error and the errors that it is made of. */
export function* nestedErrors<E extends Error>(error: E): Generator<E> {
  yield error;
  if (error.cause instanceof Error) yield* nestedErrors(error.cause as E);
  for (const one of (error as { errors?: E[] }).errors ?? []) yield* nestedErrors(one);
}
