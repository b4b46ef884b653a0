import type { PortalLink } from 'posthorn-client';
import { createContext, useContext } from 'react';

/** What the link allows. What it does not is not on the page. */
export const LinkContext = createContext<PortalLink | undefined>(undefined);

export function useLink(): PortalLink {
  const link = useContext(LinkContext);
  if (link === undefined) throw new Error('there is no link');
  return link;
}

export const useMayManage = (): boolean => useLink().can_manage_endpoint;
