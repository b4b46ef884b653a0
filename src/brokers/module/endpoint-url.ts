import { BrokerError } from './broker-error.ts';

/** `endpoint` of the settings: another server with the protocol of a cloud. */
export function endpointUrl(endpoint: string): URL {
  const url = URL.parse(endpoint);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new BrokerError('The endpoint is not an http or https URL.');
  return url;
}

/** As a resolver takes it: an address of version 6 without brackets. */
export const bareHost = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');
