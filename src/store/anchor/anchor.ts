import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import {
  type Anchor,
  anchorsOf,
  judgeAnchor,
  type Position,
  type SigningWallets,
} from '../../domain/book/anchor.ts'
import type { JournalEvent } from '../../domain/book/journal.ts'
import type { Address } from '../../domain/units.ts'
import type { Clock, Journal } from '../../ports.ts'
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
  type AnchorTrouble,
  notWritable,
  wordsOf,
} from './anchor-words.ts'
import { isFull } from './durable-file.ts'
import { GENESIS } from './journal-codec.ts'
import type { FoundState } from './journal-file.ts'

export type AnchorsOptions = {
  readonly stateDir: string
  /** Of the wallets that sign with the state; undefined where there is none, or where it signs nothing now. */
  readonly trader: AnchorPlace | undefined
  readonly operator: AnchorPlace | undefined
  readonly clock: Pick<Clock, 'now'>
}

type Seen = { readonly place: AnchorPlace; readonly anchor: Anchor | 'damaged' | undefined }

/** What is wrong with an anchor, and the same in words for the operator. */
export type Finding = {
  readonly place: AnchorPlace
  readonly trouble: AnchorTrouble
  readonly words: string
}

/**
 * The anchors of a state: each says, outside the state directory, how far the state of a wallet has come (rule T3). First
 * read, then held against the state that was found, then kept: after each write of the journal that something may be
 * signed for, and before anybody hears that it was written.
 *
 * The journal comes first and the anchor second, so that a power cut between the two never looks like a state that went
 * back. What the state does not know to be anchored, it is named for first: a start that was cut short goes on.
 */
export class StateAnchors {
  readonly #options: AnchorsOptions
  readonly #wallets: SigningWallets
  readonly #seen: readonly Seen[]
  readonly #open = new Map<Address, OpenAnchor>()
  /** Records that an anchor has to reach, by wallet, oldest first. */
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

  /** Reads the anchors. Throws AnchorRefusedError for the first that cannot be read. */
  static async read(options: AnchorsOptions): Promise<StateAnchors> {
    const seen: Seen[] = []
    // One after the other: of two that cannot be read, every start names the same one.
    for (const place of [options.trader, options.operator])
      if (place !== undefined) seen.push({ place, anchor: await readPlace(place) })
    return new StateAnchors(options, seen)
  }

  /** The wallet that trades, if it signs with the state now. */
  get trader(): Address | undefined {
    return this.#wallets.trader
  }

  /** Records that the anchors name. */
  get positions(): readonly number[] {
    return this.#anchors.map(({ position }) => position.seq)
  }

  /**
   * There is an anchor of these wallets: their journal is signed since, and one that nobody signed is not theirs, unless an
   * operator says so.
   */
  get isAnchored(): boolean {
    return !this.#isOverruled && this.#seen.some(({ anchor }) => anchor !== undefined)
  }

  /** Other state directories that the wallets' anchors name, as far as words go. */
  get otherDirectories(): readonly string[] {
    const named = this.#anchors.map(({ stateDir }) => stateDir)
    return [...new Set(named)].filter((dir) => dir !== this.#options.stateDir)
  }

  get #anchors(): readonly Anchor[] {
    return this.#seen.flatMap(({ anchor = 'damaged' }) => (anchor === 'damaged' ? [] : [anchor]))
  }

  /** What does not fit the state that was found; empty when nothing keeps the daemon from trading with it. */
  findings(found: FoundState): readonly Finding[] {
    return this.#seen.flatMap(({ place, anchor }) => {
      const verdict =
        anchor === 'damaged'
          ? ({ tag: 'anchor-damaged' } as const)
          : judgeAnchor(anchor, place, found)
      if (verdict.tag === 'agrees' || verdict.tag === 'none-yet') return []
      return [{ place, trouble: verdict, words: wordsOf(verdict, place, this.#options.stateDir) }]
    })
  }

  /** An operator's word stands against theirs: from now on any state is admitted. */
  overrule(): void {
    this.#isOverruled = true
  }

  /** Throws AnchorRefusedError for a state that is not the one that the wallets signed with last. */
  admit(found: FoundState): void {
    this.#head = found.head
    const [first] = this.findings(found)
    if (first !== undefined && !this.#isOverruled) throw new AnchorRefusedError(first.words)
  }

  /** Makes the anchors that are not there yet, and keeps all of them from now on. The state is known to be the wallets'. */
  async keep(journal: Journal): Promise<void> {
    await this.#nameState(journal)
    for (const { place, anchor } of this.#seen) {
      await this.#requireUnmoved({ place, anchor })
      // A file of its own for each start: what a process before this one still writes does not count any more.
      await writable(place, () =>
        anchor === undefined || anchor === 'damaged'
          ? createAnchor(place.file, this.#anchorOf(place))
          : replaceAnchor(place.file, { ...anchor, stateDir: this.#options.stateDir }),
      )
      await this.#keepPlace(journal, place)
    }
    this.#isKept = true
  }

  /**
   * Makes the state as it is now the one that the wallets trade with, whatever their anchors said before: only at an operator's
   * word.
   */
  async remake(journal: Journal): Promise<void> {
    await this.#nameState(journal)
    for (const { place } of this.#seen) {
      await writable(place, () => replaceAnchor(place.file, this.#anchorOf(place)))
      await this.#keepPlace(journal, place)
    }
    this.#isKept = true
  }

  /** See `JournalFence`. */
  afterFlush(head: Position, events: readonly JournalEvent[]): (() => Promise<void>) | undefined {
    const wallets = new Set(events.flatMap((event) => anchorsOf(event, this.#wallets)))
    for (const wallet of wallets) {
      const owed = this.#owed.get(wallet) ?? []
      owed.push(head.seq)
      this.#owed.set(wallet, owed)
    }
    return this.#isKept && wallets.size === 0 ? undefined : () => this.#reach(head)
  }

  /** Why nothing may be signed with these anchors, in words; undefined while it may. Costs nothing. */
  lost(): string | undefined {
    return this.#isKept ? this.#fault : 'the anchor of the state is not made yet'
  }

  /** What an operator has to look after: that the anchors are not kept yet, as in a start, is nothing of it. */
  get fault(): string | undefined {
    return this.#fault
  }

  async close(): Promise<void> {
    this.#isKept = false
    for (const each of this.#open.values()) await each.close()
    this.#open.clear()
  }

  /**
   * Another daemon, over a copy of this state, may have signed since the anchor was read: the chain may have kept this start
   * waiting for hours. What it did is not in this state.
   */
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
    await journal.append({ type: 'state-named', stateId: randomBytes(16).toString('hex') })
  }

  async #keepPlace(journal: Journal, place: AnchorPlace): Promise<void> {
    const { wallet, chainId } = place
    this.#open.set(wallet, await writable(place, () => openAnchor(place.file)))
    if (!journal.state.anchored.has(wallet))
      await journal.append({ type: 'anchored', wallet, chainId })
  }

  /** Writes what is owed up to a record that is on disk. */
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
      // Appends made during the write have added to it.
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
    throw new AnchorRefusedError(notWritable(place, error))
  }
}

/** Whatever the disk says against it is told with the key of the config that decides about the place. */
async function writable<Result>(place: AnchorPlace, task: () => Promise<Result>): Promise<Result> {
  try {
    return await task()
  } catch (error) {
    // Room on a disk may be made by itself: a supervisor starts it again.
    throw new AnchorRefusedError(notWritable(place, error), isFull(error) ? 'failed' : 'badConfig')
  }
}
