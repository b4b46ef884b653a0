import { createContext } from 'react';

/** Why acts would fail now. Undefined: they work. */
export const OffContext = createContext<string | undefined>(undefined);
