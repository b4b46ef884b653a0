import { type Config, type Setting, settings } from './settings.ts';

export interface ShownSetting {
  name: string;
  /** Null: it is a secret. */
  value: string | null;
  isSet: boolean;
  fallback: string;
  description: string;
}

/** Every setting as an operator may see it. */
export function shownSettings({ given }: Config): ShownSetting[] {
  return Object.values<Setting<unknown>>(settings).map(({ env, fallback = '', doc, secret }) => ({
    name: env,
    value: secret === true ? null : (given[env] ?? fallback),
    isSet: given[env] !== undefined,
    fallback,
    description: doc,
  }));
}
