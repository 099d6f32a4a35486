import type { ChainSettings } from '../../domain/settings.ts'

/** Links into a chain's block explorer; null where none is configured, or the subject is nothing that it would show. */
export type Explorer = {
  transaction(hash: string | undefined): string | null
  address(address: string): string | null
}

const HASH = /^0x[0-9a-f]{64}$/
const ADDRESS = /^0x[0-9a-f]{40}$/

/** Credentials and queries of the configured address are left out: what is shown must carry no token. */
export function createExplorer(chain: Pick<ChainSettings, 'explorer'> | undefined): Explorer {
  const base = baseOf(chain?.explorer)
  const link = (part: string, subject: string, shape: RegExp): string | null =>
    base !== undefined && shape.test(subject) ? `${base}/${part}/${subject}` : null
  return {
    transaction: (hash) => (hash === undefined ? null : link('tx', hash, HASH)),
    address: (address) => link('address', address, ADDRESS),
  }
}

function baseOf(explorer: string | undefined): string | undefined {
  if (explorer === undefined || !URL.canParse(explorer)) return undefined
  const { origin, pathname } = new URL(explorer)
  return `${origin}${pathname.replace(/\/+$/, '')}`
}
