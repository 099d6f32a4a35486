import {
  closeSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { StateAnchors } from '../../../../src/adapters/state/anchor.ts'
import {
  type AnchorPlace,
  createAnchor,
  openAnchor,
  readAnchor,
} from '../../../../src/adapters/state/anchor-file.ts'
import { openLogFile } from '../../../../src/adapters/state/group-commit.ts'
import type { OpenedJournal } from '../../../../src/adapters/state/journal-file.ts'
import { readJournal } from '../../../../src/adapters/state/journal-file.ts'
import { severJournal } from '../../../../src/adapters/state/journal-recovery.ts'
import type { Anchor } from '../../../../src/domain/book/anchor.ts'
import {
  BOUND,
  bytes32,
  exposed,
  intentOf,
  OWNER,
  opened,
  scheduled,
} from '../../../support/state/journal-story.ts'
import { collect, openForTest, temporaryDirectory } from '../../../support/state/state-directory.ts'

const CLOCK = { now: () => 1_800_000_000_000 }
const SLOT_BYTES = 4_096

/** A state directory, and the anchor of its wallet beside it. */
function places() {
  const base = temporaryDirectory()
  const stateDir = join(base, 'state')
  const file = join(base, 'trader.anchor')
  const trader: AnchorPlace = { name: 'trader', file, wallet: OWNER, chainId: BOUND.chainId }
  return { base, stateDir, file, trader }
}

type Places = ReturnType<typeof places>

/** A start as a live daemon makes it, up to where something may be signed. */
async function start(
  { stateDir, trader }: Places,
  openLog = openLogFile,
): Promise<OpenedJournal & { readonly anchors: StateAnchors; readonly faults: Error[] }> {
  const anchors = await StateAnchors.read({ stateDir, trader, operator: undefined, clock: CLOCK })
  const faults: Error[] = []
  const journal = await openForTest(stateDir, {
    openLog,
    onFatal: (error) => faults.push(error),
    fence: {
      beforeFlush: () => undefined,
      afterFlush: (head, events) => anchors.afterFlush(head, events),
      positions: anchors.positions,
      admit: (found) => anchors.admit(found),
    },
  })
  onTestFinished(() => anchors.close())
  if (journal.journal.state.bound === undefined) await journal.journal.append(BOUND)
  await anchors.keep(journal.journal)
  return { ...journal, anchors, faults }
}

const SLOT = intentOf(2_000)

/** Opens a slot and records a permit for it. */
async function authorize({ journal }: OpenedJournal): Promise<void> {
  if (!journal.state.strategies.has(SLOT.strategy)) await journal.append(scheduled(SLOT.strategy))
  await journal.append(opened(SLOT))
  await journal.append(exposed(SLOT, 1))
}

const SOME: Anchor = {
  wallet: OWNER,
  chainId: 8453,
  genesisHash: bytes32(1),
  stateId: 'ab',
  stateDir: '/data',
  position: { seq: 1, hash: bytes32(2) },
  atMs: 5,
}

describe('an anchor', () => {
  test('is made private at the first start, names the state, and is at the last permit when its append resolves', async () => {
    const at = places()
    const daemon = await start(at)
    expect(statSync(at.file).mode & 0o777).toBe(0o600)
    const { state } = daemon.journal
    expect(state.anchored).toEqual(new Map([[OWNER, BOUND.chainId]]))
    await authorize(daemon)
    const records = await collect(daemon.journal.records())
    const { seq, hash } = records.at(-1) ?? { seq: 0, hash: '0x' }
    expect(await readAnchor(at.file)).toMatchObject({
      wallet: OWNER,
      genesisHash: BOUND.genesisHash,
      stateId: state.stateId,
      stateDir: at.stateDir,
      position: { seq, hash },
    })
    await daemon.journal.append({
      type: 'order-accepted',
      intentId: SLOT.id,
      attempt: 1,
      orderId: 'x',
    })
    expect((await readAnchor(at.file))?.position.seq).toBe(seq)
  })

  test('follows the journal and never goes before it', async () => {
    const at = places()
    let isHeld = false
    let release = (): void => undefined
    const daemon = await start(at, async (file) => {
      const log = await openLogFile(file)
      const write: typeof log.write = async (data, offset) => {
        if (isHeld) await new Promise<void>((resolve) => (release = resolve))
        return log.write(data, offset)
      }
      return { ...log, write }
    })
    await daemon.journal.append(scheduled(SLOT.strategy), opened(SLOT))
    const before = await readAnchor(at.file)
    isHeld = true
    const appended = daemon.journal.append(exposed(SLOT, 1))
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await readAnchor(at.file)).toEqual(before)
    isHeld = false
    release()
    await appended
    expect((await readAnchor(at.file))?.position.seq).toBeGreaterThan(before?.position.seq ?? 0)
  })

  test('of which a power cut has torn the newest slot still holds the one before', async () => {
    const { file } = places()
    await createAnchor(file, SOME)
    const open = await openAnchor(file)
    for (let seq = 2; seq <= 5; seq += 1)
      await open.write({ ...SOME, position: { seq, hash: bytes32(seq) } })
    await open.close()
    expect((await readAnchor(file))?.position.seq).toBe(5)
    const whole = readFileSync(file, 'latin1')
    const newest = whole.indexOf('"seq":5') < SLOT_BYTES ? 0 : SLOT_BYTES
    for (const kept of [0, 1, 100, 300]) {
      const torn = Buffer.from(whole, 'latin1').fill(0, newest + kept, newest + SLOT_BYTES)
      writeFileSync(file, torn)
      expect((await readAnchor(file))?.position.seq).toBe(4)
    }
    writeFileSync(file, '')
    await expect(readAnchor(file)).rejects.toThrow(/no part of it is whole/)
  })

  test('is made at the next start when the first was cut short before it', async () => {
    const at = places()
    const first = await openForTest(at.stateDir)
    await first.journal.append(BOUND)
    await first.journal.append({ type: 'state-named', stateId: 'cut short' })
    await first.close()
    const daemon = await start(at)
    expect(daemon.journal.state.stateId).toBe('cut short')
    expect((await readAnchor(at.file))?.stateId).toBe('cut short')
    await daemon.close()
    // And when the journal does not say yet that it was made.
    rmSync(join(at.stateDir, 'journal.jsonl'))
    rmSync(join(at.stateDir, 'state.json'))
    const again = await openForTest(at.stateDir)
    await again.journal.append(BOUND, { type: 'state-named', stateId: 'cut short' })
    await again.close()
    rmSync(at.file)
    const view = await readJournal(at.stateDir, [2])
    const position = { seq: 2, hash: view.head.hash }
    const anchor = { ...SOME, genesisHash: BOUND.genesisHash, stateId: 'cut short', position }
    await createAnchor(at.file, anchor)
    const last = await start(at)
    expect(last.journal.state.anchored.has(OWNER)).toBe(true)
  })

  test('is made of a state that an older version has kept', async () => {
    const at = places()
    const older = await openForTest(at.stateDir)
    await older.journal.append(BOUND, scheduled(SLOT.strategy), opened(SLOT), exposed(SLOT, 1))
    await older.close()
    await start(at)
    expect((await readAnchor(at.file))?.position.seq).toBeGreaterThanOrEqual(4)
  })

  test('that is removed or given to another state ends the journal before anything can be signed', async () => {
    for (const harm of [
      (file: string) => rmSync(file),
      (file: string) => {
        const text = readFileSync(file)
        rmSync(file)
        writeFileSync(`${file}.hold`, '')
        writeFileSync(file, text)
      },
    ]) {
      const at = places()
      const daemon = await start(at)
      expect(daemon.anchors.lost()).toBeUndefined()
      harm(at.file)
      await expect(authorize(daemon)).rejects.toThrow(/was removed or given to another state/)
      expect(daemon.anchors.lost()).toMatch(/was removed or given to another state/)
      expect(daemon.faults).toHaveLength(1)
    }
  })

  test('cannot be kept where nothing may be written, and says with which key another place is chosen', async () => {
    const at = places()
    writeFileSync(join(at.base, 'file'), '')
    const trader = { ...at.trader, file: join(at.base, 'file/trader.anchor') }
    await expect(start({ ...at, trader })).rejects.toThrow(/`stateAnchor` in the config/)
  })

  test('bars every signature until it is kept', async () => {
    const at = places()
    const { stateDir, trader } = at
    const anchors = await StateAnchors.read({ stateDir, trader, operator: undefined, clock: CLOCK })
    expect(anchors.lost()).toBe('the anchor of the state is not made yet')
  })

  test('is at the last record of each wallet when both are recorded in one write', async () => {
    const at = places()
    const operator: AnchorPlace = {
      name: 'operator',
      file: join(at.base, 'operator.anchor'),
      wallet: `0x${'77'.repeat(20)}`,
      chainId: 1,
    }
    const { stateDir, trader } = at
    const anchors = await StateAnchors.read({ stateDir, trader, operator, clock: CLOCK })
    const { journal } = await openForTest(stateDir, {
      fence: {
        beforeFlush: () => undefined,
        afterFlush: (head, events) => anchors.afterFlush(head, events),
      },
    })
    onTestFinished(() => anchors.close())
    await journal.append(BOUND, scheduled(SLOT.strategy), opened(SLOT))
    await anchors.keep(journal)
    const transaction = {
      id: 'deposit:a:1',
      purpose: 'deposit',
      intentId: undefined,
      chainId: 1,
      from: operator.wallet,
      nonce: 0,
      to: OWNER,
      data: '0x',
      value: 1n,
      gas: 1n,
      maxFeePerGas: 1n,
      maxPriorityFeePerGas: 1n,
      hash: bytes32(9),
    } as const
    await Promise.all([
      journal.append({ type: 'transaction-recorded', transaction }),
      journal.append(exposed(SLOT, 1)),
    ])
    const head = (await collect(journal.records())).at(-1)?.seq
    expect((await readAnchor(trader.file))?.position.seq).toBe(head)
    expect((await readAnchor(operator.file))?.position.seq).toBe(head)
  })
})

describe('a journal whose lock is lost', () => {
  test('writes nothing more, not even its snapshot, and is over for good', async () => {
    const dir = temporaryDirectory()
    let isHeld = true
    const faults: Error[] = []
    const earlier = await openForTest(dir)
    await earlier.journal.append(scheduled('a'), scheduled('b'))
    await earlier.close()
    const { journal, close } = await openForTest(dir, {
      onFatal: (error) => faults.push(error),
      fence: {
        beforeFlush() {
          if (!isHeld) throw new Error('the lock is lost')
        },
      },
    })
    const files = ['journal.jsonl', 'state.json'].map((name) => join(dir, name))
    const before = files.map((file) => readFileSync(file, 'utf8'))
    isHeld = false
    await expect(journal.append(scheduled('c'))).rejects.toThrow(/the lock is lost/)
    isHeld = true
    await expect(journal.append(scheduled('d'))).rejects.toThrow(/the lock is lost/)
    await close()
    expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(before)
    expect(faults).toHaveLength(1)
  })
})

describe('a journal that was severed', () => {
  test('holds nothing that an overtaken writer still had under way', async () => {
    const dir = temporaryDirectory()
    const overtaken = await openForTest(dir)
    await overtaken.journal.append(scheduled('a'))
    await overtaken.close()
    const file = join(dir, 'journal.jsonl')
    const late = openSync(file, 'a')
    const before = readFileSync(file, 'utf8')
    await severJournal(dir)
    writeSync(late, 'a line of the overtaken')
    closeSync(late)
    expect(readFileSync(file, 'utf8')).toBe(before)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const heir = await openForTest(dir)
    expect(heir.warnings).toEqual([])
  })
})
