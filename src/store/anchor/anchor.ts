import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { NewerFormatError } from '../../domain/errors.ts'
import type { Address } from '../../domain/money/units.ts'
import {
  type Anchor,
  checkAnchor,
  type Position,
  type SigningWallets,
} from '../../journal/anchor.ts'
import { anchorsOf, type JournalEvent } from '../../journal/events/registry.ts'
import { stateNamed, walletAnchored } from '../../journal/events/state/state-identity.ts'
import type { Clock, Journal } from '../../ports.ts'
import { isFull } from '../../system/durable-file.ts'
import { GENESIS } from '../file/journal-codec.ts'
import type { FoundState } from '../file/journal-recovery.ts'
import {
  AnchorDamagedError,
  type AnchorPlace,
  createAnchor,
  type OpenAnchor,
  openAnchor,
  readAnchor,
  replaceAnchor,
} from './anchor-file.ts'
import {
  AnchorRefusedError,
  AnchorStoppedError,
  mismatchText,
  notWritable,
} from './anchor-messages.ts'

type AnchorsOptions = {
  readonly stateDir: string
  /** Wallets that sign with this state; undefined without one, or if it does not sign now. */
  readonly trader: AnchorPlace | undefined
  readonly operator: AnchorPlace | undefined
  readonly clock: Pick<Clock, 'now'>
}

type Seen = { readonly place: AnchorPlace; readonly anchor: Anchor | 'damaged' | undefined }

/**
 * Anchors record outside the state directory how far a wallet's state has advanced (rule T3). A start reads them and
 * compares them with the state. They are then updated after each journal write that allows a signature, before that write is
 * reported.
 *
 * The journal is written first and the anchor second, so a power cut in between never looks like a rolled-back state. The
 * state records its anchors before they are created, so an interrupted start can continue.
 */
export class StateAnchors {
  readonly #options: AnchorsOptions
  readonly #wallets: SigningWallets
  readonly #seen: readonly Seen[]
  readonly #open = new Map<Address, OpenAnchor>()
  /** Records that an anchor must reach, by wallet, oldest first. */
  readonly #owed = new Map<Address, number[]>()
  #head: Position = GENESIS
  #isOverruled = false
  #fault: string | undefined
  #journal: Pick<Journal, 'state'> | undefined
  #isKept = false

  private constructor(options: AnchorsOptions, seen: readonly Seen[]) {
    this.#options = options
    this.#seen = seen
    this.#wallets = { trader: options.trader?.wallet, operator: options.operator?.wallet }
  }

  /** Throws AnchorRefusedError for the first anchor that cannot be read. */
  static async read(options: AnchorsOptions): Promise<StateAnchors> {
    const seen: Seen[] = []
    // In sequence: if both are unreadable, every start names the same one.
    for (const place of [options.trader, options.operator])
      if (place !== undefined && !seen.some((each) => each.place.file === place.file))
        seen.push({ place, anchor: await readPlace(place) })
    return new StateAnchors(options, seen)
  }

  /** The trading wallet, if it signs with the state now. */
  get trader(): Address | undefined {
    return this.#wallets.trader
  }

  get positions(): readonly number[] {
    return this.#anchors.map(({ position }) => position.seq)
  }

  /** Other state directories named by the wallets' anchors; for messages only. */
  get otherDirectories(): readonly string[] {
    const named = this.#anchors.map(({ stateDir }) => stateDir)
    return [...new Set(named)].filter((dir) => dir !== this.#options.stateDir)
  }

  get #anchors(): readonly Anchor[] {
    return this.#seen.flatMap(({ anchor = 'damaged' }) => (anchor === 'damaged' ? [] : [anchor]))
  }

  /** Messages about mismatches with the state found; empty if trading may start. */
  findings(found: FoundState): readonly string[] {
    return this.#seen.flatMap(({ place, anchor }) => {
      const verdict =
        anchor === 'damaged'
          ? ({ tag: 'anchor-damaged' } as const)
          : checkAnchor(anchor, place, found)
      if (verdict.tag === 'agrees' || verdict.tag === 'none-yet') return []
      return [mismatchText(verdict, place, this.#options.stateDir)]
    })
  }

  /** Accepts any state from now on, at the operator's command. */
  overrule(): void {
    this.#isOverruled = true
  }

  /** Throws AnchorRefusedError if the wallets last signed with another state. */
  admit(found: FoundState): void {
    this.#head = found.head
    const [first] = this.findings(found)
    if (first !== undefined && !this.#isOverruled) throw new AnchorRefusedError(first)
  }

  /** Creates missing anchors and keeps all of them updated. Call it once the state is known to belong to the wallets. */
  async keep(journal: Journal): Promise<void> {
    await this.#nameState(journal)
    for (const { place, anchor } of this.#seen) {
      await this.#requireUnmoved({ place, anchor })
      // Each start makes a new file, so late writes of an earlier process have no effect.
      await writable(place, () =>
        anchor === undefined || anchor === 'damaged'
          ? createAnchor(place.file, this.#anchorOf(place))
          : replaceAnchor(place.file, { ...anchor, stateDir: this.#options.stateDir }),
      )
      await this.#keepPlace(journal, place)
    }
    this.#isKept = true
  }

  /** Makes the current state the one that the wallets trade with, and overrides their anchors. Operator command only. */
  async remake(journal: Journal): Promise<void> {
    await this.#nameState(journal)
    for (const { place } of this.#seen) {
      await writable(place, () => replaceAnchor(place.file, this.#anchorOf(place)))
      await this.#keepPlace(journal, place)
    }
    this.#isKept = true
  }

  afterFlush(head: Position, events: readonly JournalEvent[]): (() => Promise<void>) | undefined {
    const wallets = new Set(events.flatMap((event) => anchorsOf(event, this.#wallets)))
    for (const wallet of wallets) {
      const owed = this.#owed.get(wallet) ?? []
      owed.push(head.seq)
      this.#owed.set(wallet, owed)
    }
    return this.#isKept && wallets.size === 0 ? undefined : () => this.#reach(head)
  }

  /** Why these anchors currently forbid signing; undefined if they do not. Cheap. */
  lost(): string | undefined {
    return this.#isKept ? this.#fault : 'the anchor of the state is not made yet'
  }

  /** A fault that needs the operator. Anchors that are not yet kept during startup are no fault. */
  get fault(): string | undefined {
    return this.#fault
  }

  async close(): Promise<void> {
    this.#isKept = false
    for (const each of this.#open.values()) await each.close()
    this.#open.clear()
  }

  /** A daemon on a copy of this state may have signed meanwhile, because startup may wait hours for the chain. */
  async #requireUnmoved({ place, anchor: seen }: Seen): Promise<void> {
    const now = await readPlace(place)
    if (isDeepStrictEqual(now, seen)) return
    throw new AnchorRefusedError(
      `${place.file}: the anchor of wallet ${place.name} (${place.wallet}) has changed while this daemon was starting. Another one trades with the wallet, from another copy of its state: stop one of them`,
    )
  }

  async #nameState(journal: Journal): Promise<void> {
    this.#journal = journal
    if (journal.state.stateId !== undefined) return
    await journal.append(stateNamed({ stateId: randomBytes(16).toString('hex') }))
  }

  async #keepPlace(journal: Journal, place: AnchorPlace): Promise<void> {
    const { wallet, chainId } = place
    this.#open.set(wallet, await writable(place, () => openAnchor(place.file)))
    if (!journal.state.anchored.has(wallet))
      await journal.append(walletAnchored({ wallet, chainId }))
  }

  async #reach(head: Position): Promise<void> {
    this.#head = head
    for (const { place } of this.#seen) {
      const owed = this.#owed.get(place.wallet) ?? []
      const open = this.#open.get(place.wallet)
      if (!owed.some((seq) => seq <= head.seq) || open === undefined) continue
      if (!open.isInPlace()) {
        this.#fault = `${place.file}: the anchor of wallet ${place.name} was removed or given to another state`
        throw new AnchorStoppedError(this.#fault, 'badConfig')
      }
      await open.write(this.#anchorOf(place)).catch((error) => {
        throw new AnchorStoppedError(notWritable(place, error), 'failed')
      })
      // Appends during the write may have added more.
      this.#owed.set(
        place.wallet,
        owed.filter((seq) => seq > head.seq),
      )
    }
  }

  #anchorOf({ wallet, chainId }: AnchorPlace): Anchor {
    const { stateDir, clock } = this.#options
    const { stateId, bound } = this.#journal?.state ?? {}
    if (stateId === undefined) throw new Error('a state without a name has no anchor')
    return {
      wallet,
      chainId,
      genesisHash: bound?.owner === wallet ? bound.genesisHash : undefined,
      stateId,
      stateDir,
      position: this.#head,
      atMs: clock.now(),
    }
  }
}

async function readPlace(place: AnchorPlace): Promise<Seen['anchor']> {
  try {
    return await readAnchor(place.file)
  } catch (error) {
    if (error instanceof AnchorDamagedError) return 'damaged'
    if (error instanceof NewerFormatError) throw error
    throw new AnchorRefusedError(notWritable(place, error))
  }
}

/** Maps disk errors to a message that names the config key of the location. */
async function writable<Result>(place: AnchorPlace, task: () => Promise<Result>): Promise<Result> {
  try {
    return await task()
  } catch (error) {
    // Disk space may be freed without the operator, so the supervisor should restart.
    throw new AnchorRefusedError(notWritable(place, error), isFull(error) ? 'failed' : 'badConfig')
  }
}
