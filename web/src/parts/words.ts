import { createContext, useContext } from 'react';
import { words as en, type Messages } from './languages/en.ts';

/** The words of the parts. The portal brings those of the reader's language, and the dashboard is English. */
export const MessagesContext = createContext<Messages>(en);
export const useWords = (): Messages => useContext(MessagesContext);
