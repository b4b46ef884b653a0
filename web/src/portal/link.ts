import type { PortalLink } from 'posthorn-client';
import { createContext, useContext } from 'react';

/** The portal link with its rights. An act that it does not allow is not on the page. */
export const LinkContext = createContext<PortalLink | undefined>(undefined);

export function useLink(): PortalLink {
  const link = useContext(LinkContext);
  if (link === undefined) throw new Error('there is no link');
  return link;
}

export interface Rights {
  retry: boolean;
  manage: boolean;
  seeSecrets: boolean;
  editFunctions: boolean;
  useBrokers: boolean;
}

/** A right that the link does not set is as that to manage. */
export function useRights(): Rights {
  const {
    can_manage_endpoint: manage,
    can_retry: retry,
    can_see_secrets,
    can_edit_functions,
    can_use_brokers,
  } = useLink();
  return {
    retry,
    manage,
    seeSecrets: can_see_secrets ?? manage,
    useBrokers: manage && can_use_brokers,
    editFunctions: manage && (can_edit_functions ?? true),
  };
}
