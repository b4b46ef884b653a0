/** Says what was expected of a setting. */
export class BadValue extends Error {}
