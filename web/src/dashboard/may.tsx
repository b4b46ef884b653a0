import type { ReactNode } from 'react';
import { type Operation, useMay } from '../data/may.ts';

/** Something that only those see who may use the operation. */
export function May({ use, children }: { use: Operation; children: ReactNode }) {
  return useMay()(use) ? children : null;
}
