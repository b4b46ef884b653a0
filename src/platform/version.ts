/**
 * The version of this program, in the User-Agent of deliveries and on attempts. A test compares it with
 * package.json.
 */
export const VERSION = '0.1.0';
