import { dirname } from 'node:path'
import { codeOf, type ErrorMeaning, OperatorError } from '../../domain/errors.ts'
import type { Anchor, AnchorFault } from '../../journal/anchor.ts'
import { isFull } from '../../system/durable-file.ts'
import type { AnchorPlace } from './anchor-file.ts'

/** State and anchor do not match, or the anchor cannot be written. Trading stays off until an operator decides. */
export class AnchorRefusedError extends OperatorError {
  override readonly name = 'AnchorRefusedError'
  readonly means: ErrorMeaning

  constructor(message: string, means: ErrorMeaning = 'badConfig') {
    super(message)
    this.means = means
  }
}

/** An anchor could not follow its journal, so the pending signature was not made. */
export class AnchorStoppedError extends OperatorError {
  override readonly name = 'AnchorStoppedError'
  readonly means: ErrorMeaning

  constructor(message: string, means: ErrorMeaning) {
    super(`${message}. Nothing more is recorded or signed`)
    this.means = means
  }
}

type AnchorMismatch = AnchorFault | { readonly tag: 'anchor-damaged' }

const NEW =
  '`tranched state new` begins afresh and keeps what is there aside: caps, programs and what is in flight are forgotten'
const ACCEPT =
  '`tranched state accept-loss` goes on with the state as it is: compare it with the transactions of the wallet first, because what is missing in it may have been executed'
const AT_RISK =
  'What it does not know of may have been signed and executed: caps would be spent again, and orders made twice'
const TWO_STATES = 'Two states of one wallet would each spend its caps, and make each order twice'

/** The finding, the possible loss, and the operator's options. */
export function mismatchText(
  mismatch: AnchorMismatch,
  place: AnchorPlace,
  stateDir: string,
): string {
  const { what, ways } = messageOf(mismatch, place, stateDir)
  const numbered = ways.map((way, index) => `  ${index + 1}. ${way}`)
  return [what, 'Nothing was signed, nothing was changed. Ways on:', ...numbered].join('\n')
}

type AnchorMessage = { readonly what: string; readonly ways: readonly string[] }

function messageOf(mismatch: AnchorMismatch, place: AnchorPlace, stateDir: string): AnchorMessage {
  const { file, name, wallet } = place
  switch (mismatch.tag) {
    case 'anchor-damaged':
      return {
        what: `${file}: the anchor of wallet ${name} (${wallet}) is damaged: no part of it is whole. Without it there is no way to know whether the state in ${stateDir} is the newest that the wallet signed with. ${AT_RISK}`,
        ways: [`bring the file back from a backup that is as new as the state`, ACCEPT, NEW],
      }
    case 'anchor-missing':
      return {
        what: `${file}: the anchor of wallet ${name} (${wallet}) is missing, and the state in ${stateDir} says that there was one. Without it there is no way to know whether this state is the newest that the wallet signed with. ${AT_RISK}`,
        ways: [
          'bring the file back, mount the volume that it is on, or correct `stateAnchor` in the config',
          ACCEPT,
          NEW,
        ],
      }
    case 'anchor-of-other-wallet':
      return {
        what: `${file}: this is the anchor of wallet ${mismatch.anchor.wallet}, and the config's ${name} is ${wallet}`,
        ways: [
          'if the key is the wrong one, correct `wallets` in the config',
          'if the wallet is new, give its anchor a file of its own: `stateAnchor` in the config',
        ],
      }
    case 'anchor-of-other-chain':
      return {
        what: `${file}: this anchor of wallet ${name} (${wallet}) is for chain ${chainOf(mismatch.anchor)}, and the config or the state is for another (chain ${place.chainId})`,
        ways: [
          'if the chain is the wrong one, correct `chains` in the config',
          'if the wallet is to trade on both, give each config an anchor of its own: `stateAnchor`',
          NEW,
        ],
      }
    case 'state-missing':
      return {
        what: `${stateDir}: there is no state here, and ${file} says that wallet ${name} (${wallet}) has one: it had ${recordsOf(mismatch.anchor)}, in ${mismatch.anchor.stateDir}. ${mismatch.anchor.stateDir === stateDir ? AT_RISK : TWO_STATES}`,
        ways: [
          `mount the volume that it is on, or correct \`stateDir\` in the config${elsewhere(mismatch.anchor, stateDir)}`,
          'bring the whole state directory back from the newest backup',
          NEW,
        ],
      }
    case 'other-state':
      return {
        what: `${stateDir}: this is not the state of wallet ${name} (${wallet}). Its anchor ${file} names another, with ${recordsOf(mismatch.anchor)}, in ${mismatch.anchor.stateDir}. ${TWO_STATES}`,
        ways: [
          `use the wallet's state: \`stateDir: ${mismatch.anchor.stateDir}\``,
          'use another wallet for this one, with a key of its own',
          `if this is to be the wallet's only state from now on, stop the daemon of the other for good; then: ${ACCEPT}`,
        ],
      }
    case 'state-behind':
      return {
        what: `${stateDir}: this state went back. It ends with record ${mismatch.head.seq}, and ${file} says that wallet ${name} (${wallet}) signed with ${recordsOf(mismatch.anchor)}: ${mismatch.anchor.position.seq - mismatch.head.seq} records are gone. ${AT_RISK}`,
        ways: [
          'bring back the whole state directory as it was when the daemon ran last: the right volume, or the newest backup',
          ACCEPT,
          NEW,
        ],
      }
    case 'state-differs':
      return {
        what: `${stateDir}: this is another course of the state than the one that was signed with. Its record ${mismatch.anchor.position.seq} is not the one that ${file} names for wallet ${name} (${wallet}). It was brought back from an older copy and went on from there, or two daemons wrote. ${AT_RISK}`,
        ways: ['bring back the state directory that the wallet signed with last', ACCEPT, NEW],
      }
  }
}

function recordsOf({ position, atMs }: Anchor): string {
  return `${position.seq} records on ${new Date(atMs).toISOString()}`
}

function chainOf({ chainId, genesisHash }: Anchor): string {
  return genesisHash === undefined ? String(chainId) : `${chainId}, genesis ${genesisHash}`
}

function elsewhere(anchor: Anchor, stateDir: string): string {
  return anchor.stateDir === stateDir ? '' : ` (\`stateDir: ${anchor.stateDir}\`)`
}

export function notWritable(place: AnchorPlace, error: unknown): string {
  const [detail] = (error instanceof Error ? error.message : String(error)).split('\n')
  const code = codeOf(error)
  const dir = dirname(place.file)
  const broken = `${place.file}: the anchor of wallet ${place.name} cannot be written`
  if (isFull(error))
    return `${broken}: the disk is full (${detail}). Make room on the file system of ${dir} (df -h ${dir}), then start again`
  if (code === 'EIO' || code === 'EROFS')
    return `${broken}: ${detail}. Repair the file system of ${dir}, or mount it writable, then start again`
  if (code === 'EISDIR' || code === 'ENOTREG')
    return `${place.file}: the anchor of wallet ${place.name} cannot be read: this is not a regular file. Put what is there aside and bring the anchor back, or correct \`stateAnchor\` in the config`
  if (code === 'EEXIST')
    return `${place.file}: another daemon has just made the anchor of wallet ${place.name}: start again, and read what is said then`
  return `${place.file}: the anchor of wallet ${place.name} cannot be read and written (${detail}). It has to lie outside the state directory where this process may write: correct the rights, or say another place with \`stateAnchor\` in the config`
}
