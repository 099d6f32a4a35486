import { hash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openHeardFile } from '../../src/control/telegram/heard-file.ts'
import type { JournalEvent } from '../../src/journal/events/registry.ts'
import { type OutboxLine, openOutboxFile } from '../../src/observe/notify/outbox-file.ts'
import { deriveJournalKey } from '../../src/signing/keys/journal-key.ts'
import { createAnchor, readAnchor } from '../../src/store/anchor/anchor-file.ts'
import { decodeRecords, encodeRecords } from '../../src/store/file/journal-codec.ts'
import { captureLog } from '../support/capture-log.ts'
import { allPrintedBy, folderWith, printedBy } from './folder.ts'

/**
 * Guards what each released version left on disk: `releases/<version>` holds its config, strategies, state, anchor, outbox and
 * bot position, and today's program reads them. To keep a new version's files, once, before its tag:
 * `KEEP_RELEASE=1 npx vitest run --config vitest.all.config.ts test/golden/releases.test.ts`.
 */

const RELEASES = 'test/golden/releases'
const { version: VERSION } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
const KEY = deriveJournalKey(new Uint8Array(32).fill(0x42))
const BOT = { token: '4711:secret', apiRoot: 'https://api.telegram.org' }
const HEARD = { next: 4_712, dateSeconds: 1_799_958_000 }
const NOW_MS = Date.UTC(2027, 0, 14, 11, 10)

const PUT: OutboxLine = {
  put: {
    ...{ id: '1799959200000-1', event: 'filled', severity: 'info', atMs: 1_799_959_200_000 },
    ...{ when: 'Thu 14 Jan, 20:40 (UTC)', strategy: 'weekly-eth', subject: 'Filled', lines: ['a'] },
    ...{ text: 'filled weekly-eth', details: { strategy: 'weekly-eth' } },
  },
  to: ['webhook 1'],
}
const OUTBOX: readonly OutboxLine[] = [PUT, { taken: 116 }]

const journalOf = (dir: string) => join(dir, 'state/journal/000000000001.jsonl')
const anchorOf = (dir: string) => join(dir, 'trader.anchor')

async function outboxOf(dir: string) {
  const { log, lines } = await captureLog()
  const file = await openOutboxFile(join(dir, 'state'), { log, mayWrite: () => true })
  onTestFinished(() => file.close())
  return { file, lines }
}

async function keep(version: string): Promise<void> {
  const dir = folderWith('live')
  await printedBy(dir, 'state rebuild')
  const last = decodeRecords(readFileSync(journalOf(dir), 'utf8')).at(-1)
  if (last === undefined) throw new Error('the journal is empty')
  await createAnchor(anchorOf(dir), {
    ...{ wallet: KEY.address, chainId: 8453, genesisHash: undefined },
    ...{ stateId: 'kept', stateDir: '/state', atMs: NOW_MS },
    position: { seq: last.seq, hash: last.hash },
  })
  const { file } = await outboxOf(dir)
  await file.append(OUTBOX, NOW_MS, () => OUTBOX, 'last')
  await openHeardFile(join(dir, 'state'), BOT).write(HEARD)
  cpSync(dir, join(RELEASES, version), { recursive: true })
}

if (process.env['KEEP_RELEASE'] && !existsSync(join(RELEASES, VERSION)))
  test('the files of this version are kept', () => keep(VERSION))

test('the version of package.json has its files here', () => {
  expect(readdirSync(RELEASES)).toContain(VERSION)
})

function copyOf(version: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'tranched-release-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  cpSync(join(RELEASES, version), dir, { recursive: true })
  for (const name of ['', ...readdirSync(dir, { recursive: true, encoding: 'utf8' })]) {
    const path = join(dir, name)
    chmodSync(path, statSync(path).isDirectory() ? 0o700 : 0o600)
  }
  return dir
}

describe.each(readdirSync(RELEASES))('what version %s left', (version) => {
  test('is proven, and prints the same orders, trades and settings', async () => {
    const printed = await allPrintedBy(copyOf(version), [
      'validate',
      'state verify',
      'status --json',
      'history --json',
      'report --json',
      'why weekly-eth:1799913600 --json',
    ])
    await expect(printed).toMatchFileSnapshot(`releases/${version}/printed.txt`)
  })

  test('continues: records are added, and nothing that is there is written again', async () => {
    const dir = copyOf(version)
    const before = readFileSync(journalOf(dir), 'utf8')
    const printed = await allPrintedBy(dir, [
      'pause weekly-eth',
      'resume weekly-eth',
      'state verify',
    ])
    expect(printed.match(/^exit \d+$/gm)).toEqual(['exit 0', 'exit 0', 'exit 0'])
    expect(printed).toContain('sound: nothing is missing or altered')
    const after = readFileSync(journalOf(dir), 'utf8')
    expect(after.startsWith(before)).toBe(true)
    expect(after.length).toBeGreaterThan(before.length)
  })

  test('includes an anchor, waiting messages and the bot position, read without a warning', async () => {
    const dir = copyOf(version)
    const last = decodeRecords(readFileSync(journalOf(dir), 'utf8')).at(-1)
    expect(await readAnchor(anchorOf(dir))).toMatchObject({
      wallet: KEY.address,
      position: { seq: last?.seq, hash: last?.hash },
    })
    const { file, lines } = await outboxOf(dir)
    expect(file.lines).toEqual(OUTBOX)
    expect(lines()).toEqual([])
    expect(await openHeardFile(join(dir, 'state'), BOT).read()).toEqual({ heard: HEARD })
  })
})

describe('a file of a newer version', () => {
  const goBack = /a newer version wrote it\. Install that version again; or go back with a backup/

  test('state.json is refused by name', async () => {
    const dir = copyOf(VERSION)
    const file = join(dir, 'state/state.json')
    const body = readFileSync(file, 'utf8')
      .replace(/"version":\d+/, '"version":99')
      .replace(/,"digest":"0x[0-9a-f]{64}","mac":"[0-9a-f]{64}"\}\n$/, '')
    const digest = hash('sha256', body)
    writeFileSync(file, `${body},"digest":"0x${digest}","mac":"${'0'.repeat(64)}"}\n`)
    const printed = await printedBy(dir, 'pause weekly-eth')
    expect(printed).toMatch(/state\.json: it has format 99, which this version/)
    expect(printed).toMatch(goBack)
    expect(printed).toMatch(/exit 78/)
  })

  test('a journal is refused with the line and type of the record that is unknown', async () => {
    const dir = copyOf(VERSION)
    const last = decodeRecords(readFileSync(journalOf(dir), 'utf8')).at(-1)
    if (last === undefined) throw new Error('the journal is empty')
    const later = { type: 'moon-reached' } as unknown as JournalEvent
    appendFileSync(journalOf(dir), encodeRecords(last, [later], NOW_MS, KEY).text)
    const printed = await printedBy(dir, 'pause weekly-eth')
    expect(printed).toMatch(
      /000000000001\.jsonl: line \d+.* is of type moon-reached, which this version/,
    )
    expect(printed).toMatch(goBack)
    expect(printed).toMatch(/exit 78/)
    expect(readFileSync(journalOf(dir), 'utf8').endsWith('}\n')).toBe(true)
  })

  test('an anchor is refused by name, and not taken for a damaged one', async () => {
    const file = anchorOf(copyOf(VERSION))
    const slot = readFileSync(file, 'utf8').slice(0, 4_096)
    const body = slot.replace('"format":1', '"format":2').replace(/,"check":.*\n$/, '}')
    const line = `${body.slice(0, -1)},"check":"${hash('sha256', body)}"}`
    writeFileSync(file, `${line.padEnd(4_095)}\n`)
    await expect(readAnchor(file)).rejects.toThrow(/trader\.anchor: it has format 2, which.*newer/)
  })

  test('an outbox is refused by name, and keeps its messages', async () => {
    const dir = copyOf(VERSION)
    const file = join(dir, 'state/outbox/messages.jsonl')
    const text = readFileSync(file, 'utf8').replace('{"outbox":1}', '{"outbox":2}')
    writeFileSync(file, text)
    await expect(outboxOf(dir)).rejects.toThrow(/messages\.jsonl: it has format 2, which.*newer/)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })
})
