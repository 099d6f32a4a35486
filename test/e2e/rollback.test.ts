import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { readAnchor } from '../../src/store/anchor/anchor-file.ts'
import { readJournal } from '../../src/store/file/journal-snapshot.ts'
import { type Ended, run } from '../support/process/cli.ts'
import { eventsIn, segmentOf } from '../support/state/state-directory.ts'
import { everySecond, type Rehearsal, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()
const ANCHORS = ['trader.anchor', 'operator.anchor']

/**
 * State after two daemons in turn: the whole directory as the first left it, and as it was when the second was killed.
 */
async function twoCopies() {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const { dir, stateDir, config } = rehearsal
  const [older, killed] = [join(dir, 'older'), join(dir, 'killed')]
  const olderAnchors = join(dir, 'older-anchors')
  const first = rehearsal.daemon()
  await first.sees(/filled buy-weth/)
  expect((await first.stop()).code).toBe(0)
  cpSync(stateDir, older, { recursive: true })
  mkdirSync(olderAnchors)
  for (const name of ANCHORS) cpSync(join(dirname(config), name), join(olderAnchors, name))
  const second = rehearsal.daemon()
  await second.sees(/filled buy-weth/)
  await second.killHard()
  cpSync(stateDir, killed, { recursive: true, filter: (file) => !file.endsWith('.sock') })
  const put = (copy: string | undefined): void => {
    rmSync(stateDir, { recursive: true })
    if (copy !== undefined) cpSync(copy, stateDir, { recursive: true })
  }
  const command = (...args: readonly string[]): Promise<Ended> => run([...args, '--config', config])
  const refused = async (...args: readonly string[]): Promise<string> => {
    const { code, stderr } = await command('run', '--http-port', '0', ...args)
    expect(code, stderr).toBe(78)
    expect(stderr).not.toMatch(/^\s+at /m)
    expect(stderr).toMatch(/Ways on:\n {2}1\. /)
    return stderr
  }
  return {
    ...rehearsal,
    older,
    olderAnchors,
    killed,
    put,
    refused,
    command,
    anchor: anchorOf(rehearsal),
  }
}

function anchorOf({ config }: Pick<Rehearsal, 'config'>): string {
  return join(dirname(config), 'trader.anchor')
}

function moveAnchors(from: string, to: string): void {
  for (const name of ANCHORS) renameSync(join(from, name), join(to, name))
}

async function trades(rehearsal: Pick<Rehearsal, 'daemon'>): Promise<void> {
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  const { code, stderr } = await daemon.stop()
  expect(code, stderr).toBe(0)
}

/** Starts only with an operator's confirmation, because the wallet sold things that this state does not know. */
async function haltsAndResumes({
  daemon: start,
  command,
}: Pick<Awaited<ReturnType<typeof twoCopies>>, 'daemon' | 'command'>): Promise<void> {
  const daemon = start()
  await daemon.sees(/halted everything: (wallet|transaction) 0x\w+ .*/)
  expect(daemon.output()).toMatch(
    /transaction 0x\w{64} in block \d+ paid 25 USDC out of the wallet for no order on record/,
  )
  expect((await command('resume')).stdout).toContain('everything')
  await daemon.sees(/resumed everything[\s\S]*filled buy-weth/)
  expect((await daemon.stop()).code).toBe(0)
}

/** Whole lines, from the last permit on. */
function cutLastPermit(journal: string): void {
  const text = readFileSync(journal, 'utf8')
  const at = text.lastIndexOf('"event":{"type":"permit-recorded"')
  writeFileSync(journal, text.slice(0, text.lastIndexOf('\n', at) + 1))
}

test('a start refuses a rolled-back state with its findings and remedies, and the right state starts', async () => {
  const { stateDir, older, killed, put, refused, command, anchor, ...rehearsal } = await twoCopies()
  // kill -9, and whole lines gone from the end: state.json is older and does not contradict it.
  const journal = segmentOf(stateDir)
  cutLastPermit(journal)
  const cut = readFileSync(journal, 'utf8')
  expect(await refused()).toMatch(
    /this state went back\. It ends with record \d+, and .*anchor says/,
  )
  expect(readFileSync(journal, 'utf8')).toBe(cut)
  expect(statSync(anchor).mode & 0o777).toBe(0o600)

  put(older)
  expect(await refused()).toContain(`${stateDir}: this state went back`)

  put(undefined)
  const missing = await refused()
  expect(missing).toContain(
    `${stateDir}: there is no state here, and ${anchor} says that wallet trader`,
  )
  expect(missing).toMatch(/in .*state\. What it does not know of may have been signed/)

  // The anchor belongs to the wallet: another directory, fresh or with its own state, does not match it.
  put(killed)
  const other = join(rehearsal.dir, 'other')
  expect(await refused('--state-dir', other)).toContain(`\`stateDir: ${stateDir}\``)
  moveAnchors(dirname(anchor), rehearsal.dir)
  expect(await refused()).toContain(`${anchor}: the anchor of wallet trader`)
  const stranger = rehearsal.daemon(['--state-dir', other])
  await stranger.sees(/filled buy-weth/)
  expect((await stranger.stop()).code).toBe(0)
  expect(await refused()).toMatch(
    /this is not the state of wallet trader .* names another, with \d+ records on .*, in .*other\./,
  )

  // The sales of the other state are on the chain.
  moveAnchors(rehearsal.dir, dirname(anchor))
  await haltsAndResumes({ ...rehearsal, command })
})

test('the chain reveals a rollback of both the state and the anchor', async () => {
  const { older, olderAnchors, put, anchor, ...rehearsal } = await twoCopies()
  // As after a machine restore from a backup: each matches the other.
  put(older)
  cpSync(olderAnchors, dirname(anchor), { recursive: true })
  await haltsAndResumes(rehearsal)
})

test('accept-loss and state new each start trading again, and the journal records both', async () => {
  const { stateDir, older, put, refused, command, anchor, ...rehearsal } = await twoCopies()
  put(older)
  await refused()
  const unconfirmed = await command('state', 'accept-loss')
  expect(unconfirmed.code).toBe(2)
  expect(unconfirmed.stderr).toMatch(/this state went back[\s\S]*repeat the command with --yes/)
  await refused()

  // Neither command needs strategy files.
  const strategies = join(rehearsal.dir, 'strategies')
  renameSync(strategies, join(rehearsal.dir, 'elsewhere'))
  const accepted = await command('state', 'accept-loss', '--yes')
  expect(accepted.code, accepted.stderr).toBe(0)
  expect(accepted.stderr).toMatch(/an operator accepted the loss of records/)
  expect((await command('state', 'accept-loss', '--yes')).stdout).toMatch(/no loss to accept/)
  renameSync(join(rehearsal.dir, 'elsewhere'), strategies)
  const types = async () => (await eventsIn(stateDir)).map(({ type }) => type)
  expect((await types()).slice(-2)).toEqual(['loss-accepted', 'slots-missed'])
  await trades(rehearsal)

  put(undefined)
  await refused()
  const begun = await command('state', 'new', '--yes')
  expect(begun.code, begun.stderr).toBe(0)
  expect(await types()).toEqual(['begun-anew', 'state-named', 'anchored', 'anchored'])
  await trades(rehearsal)

  expect((await command('halt')).code).toBe(0)
  const again = await command('state', 'new', '--yes')
  expect(again.code, again.stderr).toBe(0)
  expect(again.stdout).toMatch(/It stays halted until `tranched resume`/)
  const [aside] = readdirSync(stateDir).filter((name) => name.startsWith('aside-'))
  expect(existsSync(segmentOf(join(stateDir, aside ?? '')))).toBe(true)
  expect((await readJournal(stateDir)).state.halted).toBeDefined()
  expect((await readAnchor(anchor))?.stateId).toBe((await readJournal(stateDir)).state.stateId)
})

test('an anchor that cannot be written stops the start with the config key that controls it', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const { config, dir } = rehearsal
  const settings = parse(readFileSync(config, 'utf8'))
  const starts = async (stateAnchor: string): Promise<Ended> => {
    writeFileSync(config, stringify({ ...settings, stateAnchor }))
    return run(['run', '--config', config, '--http-port', '0'])
  }
  const inside = await starts(join(rehearsal.stateDir, 'trader.anchor'))
  expect(inside.code).toBe(78)
  expect(inside.stderr).toMatch(/stateAnchor: .* it is in the state directory/)
  writeFileSync(join(dir, 'file'), '')
  const nowhere = await starts(join(dir, 'file/trader.anchor'))
  expect(nowhere.code).toBe(78)
  expect(nowhere.stderr).toMatch(
    /the anchor of wallet trader cannot be .* `stateAnchor` in the config/,
  )
  expect(nowhere.stderr).not.toMatch(/^\s+at /m)
})
