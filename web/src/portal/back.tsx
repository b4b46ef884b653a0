import { Icon } from '../ui/text/icon.tsx';
import { at } from './address.ts';

export const Back = ({ page, label }: { page: string; label: string }) => (
  <a href={at(page)} className="mb-2 inline-flex items-center gap-1 text-muted hover:text-ink">
    <Icon name="chevron" className="size-3.5 rotate-180" />
    {label}
  </a>
);
