import type { Mode } from '../../domain/settings.ts'
import { checkProcess, type ProcessIdentity } from './process-identity.ts'

export type LockHolder = {
  readonly pid: number
  /** Command line, for the operator. */
  readonly command: string
  readonly startedAtMs: number
  /** A daemon's config file and mode; undefined for commands and older daemons. */
  readonly config?: string | undefined
  readonly mode?: Mode | undefined
}

export type LockClaim = LockHolder &
  ProcessIdentity & { readonly token: string; readonly beat: string }
export type Line = LockClaim | { readonly withdrawn: string } | { readonly overtaken: string }

/** A claim in force; `unknown` if its process cannot be checked from here. */
export type HeldClaim = LockClaim & { readonly status: 'alive' | 'unknown' }

export function firstInForce(text: string): HeldClaim | undefined {
  const { claims, ended } = readClaims(text)
  for (const claim of claims) {
    if (ended.has(claim.token)) continue
    const status = checkProcess(claim)
    if (status !== 'gone') return { ...claim, status }
  }
  return undefined
}

/** All claims, oldest first, and the tokens of those that were withdrawn or overtaken. */
export function readClaims(text: string) {
  const lines = text.split('\n').flatMap(parseLine)
  const claims = lines.flatMap((line) => ('token' in line ? [line] : []))
  const withdrawn = lines.flatMap((line) => ('withdrawn' in line ? [line.withdrawn] : []))
  const overtaken = lines.flatMap((line) => ('overtaken' in line ? [line.overtaken] : []))
  return { claims, ended: new Set([...withdrawn, ...overtaken]), overtook: overtaken.length > 0 }
}

/** A power cut or a full disk leaves invalid lines, which hold no claim. */
function parseLine(text: string): readonly Line[] {
  try {
    const line: Partial<LockClaim & { withdrawn: string; overtaken: string }> | null =
      JSON.parse(text)
    if (typeof line?.withdrawn === 'string') return [{ withdrawn: line.withdrawn }]
    if (typeof line?.overtaken === 'string') return [{ overtaken: line.overtaken }]
    if (typeof line?.token === 'string' && typeof line.pid === 'number') return [line as LockClaim]
    return []
  } catch {
    return []
  }
}
