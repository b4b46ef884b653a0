import type { FastifyRequest } from 'fastify';
import type { ReadContext } from '../http/context.ts';

/** Stands in the pages for the address of the service, which differs between readers. */
export const ADDRESS = 'http://address.invalid';

/** The reader copies the address into a shell, so a host has only the characters of names and addresses. */
const HOST = /^[\w.:[\]-]{1,255}$/;

/** POSTHORN_PUBLIC_URL, or else the address that the reader asked. Only trusted proxies may name another. */
export function addressFor({ protocol, host }: FastifyRequest, { settings, publicUrl }: ReadContext): string {
  const isSet = settings.some((setting) => setting.name === 'POSTHORN_PUBLIC_URL' && setting.isSet);
  return isSet || !HOST.test(host) ? publicUrl() : `${protocol}://${host}`;
}
