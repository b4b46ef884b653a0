import { idTime } from '../../domain/ids.ts';

const ULID = /[0-7][0-9A-HJKMNP-TV-Z]{25}/;

/**
 * The name of an object. It begins with the time in the id of the message, so names are in the order of time, and a message
 * that is sent again replaces its object. The end of the name says to readers such as Athena and Spark what it holds.
 */
export function objectKey(prefix: string, id: string): string {
  const [ulid = '0'] = ULID.exec(id) ?? [];
  const [date = '', clock = ''] = new Date(idTime(ulid)).toISOString().split(/[T.]/);
  return `${prefix}${date.replaceAll('-', '/')}/${clock.replaceAll(':', '-')}-${id.replaceAll(/[^\w.-]/g, '-')}.jsonl.gz`;
}
