/** The rules of HTTP headers (RFC 9110), for headers that people, events and other services name. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

export const isHeaderName = (name: string): boolean => NAME.test(name);

/** One line of Latin-1. */
export const isHeaderValue = (value: string): boolean => VALUE.test(value);

const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(;|$)/;

/** Whether a text can be sent as a content type. Its parameters are not looked at. */
export const isMediaType = (text: string): boolean => MEDIA_TYPE.test(text) && isHeaderValue(text);

/** Headers of one connection (RFC 9110, 7.6.1), in lower case. */
export const HOP_BY_HOP: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

const ofConnection: ReadonlySet<string> = new Set([...HOP_BY_HOP, 'host', 'content-length', 'expect']);

/** Whether the connection of a request sets this header itself. No caller may name it and no event replaces it. */
export const isConnectionHeader = (name: string): boolean => ofConnection.has(name.toLowerCase());

export const OF_CONNECTION = 'is set by the connection and not allowed here';

const OF_DELIVERIES =
  /^(content-type|content-encoding|accept-encoding|traceparent|tracestate|user-agent|(webhook|x-posthorn|x-convoy|ce)-.*)$/i;

/** Whether deliveries have this header from us. */
export const isDeliveryHeader = (name: string): boolean => OF_DELIVERIES.test(name);
