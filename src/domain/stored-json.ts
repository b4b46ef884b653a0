import { AppError } from './errors.ts';

/** @throws AppError if the text is not JSON. It does not quote the text, as the parser's own message would. */
export function parseStored(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new AppError('row_damaged', { detail: 'its stored JSON is damaged' }, { cause: error });
  }
}
