import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { outputOf } from '../support/output-of.ts'
import { run } from '../support/process/cli.ts'
import { eventsIn } from '../support/state/state-directory.ts'
import { all, mentionsKey } from './audit.ts'
import { ether } from './operator.ts'
import { everySecond, nodeCall, type Rehearsal, startRehearsal } from './rehearsal.ts'

const IDLE = everySecond('buy-weth', { enabled: false })

/** The aggregator part of the written config. */
type Config = {
  mode: string
  wallets: { trader: object; operator: { privateKeyFile: string } }
  chains: { sepolia: { rpcUrls: [string] } }
  aggregator: {
    rpcUrl: string
    proposer: string
    contracts: Record<'gasTank' | 'trustedProposer' | 'trustlessProposer', string>
    targets: { demo: string }
  }
}

function configOf(rehearsal: Rehearsal): Config {
  return parse(readFileSync(rehearsal.config, 'utf8'))
}

function editConfig(rehearsal: Rehearsal, edit: (config: Config) => void): void {
  const config = configOf(rehearsal)
  edit(config)
  writeFileSync(rehearsal.config, stringify(config))
}

/** Runs a setup command for one account on the sandbox. */
/** Any requested status. */
type Said = {
  readonly account: string
  readonly onChain: object | null
  readonly code: string
  readonly proposer: string | null
}

/** Delegation events in the account's journal. */
async function delegationsOf({ stateDir }: Rehearsal) {
  const events = existsSync(join(stateDir, 'state.json')) ? await eventsIn(stateDir) : []
  return all(events, 'delegation-signed')
}

function commandsOf(rehearsal: Rehearsal) {
  const outputs: string[] = []
  const command = async (line: string) => {
    const ended = await run([...line.split(' '), '--config', rehearsal.config])
    outputs.push(ended.stdout, ended.stderr)
    return ended
  }
  const data = async (line: string) =>
    outputOf<Said>(line, (await command(`${line} --json`)).stdout)
  return { command, data, outputs }
}

/** Calls a JSON-RPC method of the aggregator's chain. */
function sepolia<Result>(rehearsal: Rehearsal, method: string, params: readonly unknown[]) {
  const [rpcUrl] = configOf(rehearsal).chains.sepolia.rpcUrls
  return nodeCall<Result>({ rpcUrl }, method, params)
}

test('commands alone take an account from no deposit to a delegation and back', async () => {
  const rehearsal = await startRehearsal(IDLE)
  const { command, data, outputs } = commandsOf(rehearsal)
  const { contracts } = configOf(rehearsal).aggregator
  const stranger = await data('gastank status')
  expect(stranger).toMatchObject({
    known: false,
    balance: null,
    onChain: ether(0n),
    indexing: false,
  })
  const { account } = stranger
  const code = () => sepolia<string>(rehearsal, 'eth_getCode', [account, 'latest'])
  const early = await command('delegation set')
  expect([early.code, early.stderr]).toEqual([1, expect.stringMatching(/gastank deposit AMOUNT/)])

  const unsure = await command('gastank deposit 0.05')
  expect([unsure.code, unsure.stderr]).toEqual([2, expect.stringMatching(/0\.05 ETH.*--yes/)])
  expect((await data('gastank status')).onChain).toEqual(ether(0n))
  const deposited = await command('gastank deposit 0.05 --yes')
  expect([deposited.code, deposited.stdout]).toEqual([0, expect.stringMatching(/is indexed/)])
  expect(deposited.stderr).toMatch(/transaction 0x[0-9a-f]{64}: mined\n0\.05 ETH are in the Gas/)
  const fifty = ether(5n * 10n ** 16n)
  const funded = { known: true, balance: fifty, available: fifty, onChain: fifty, indexing: false }
  expect(await data('gastank status')).toMatchObject(funded)

  const set = await command('delegation set')
  expect([set.code, set.stdout]).toEqual([0, expect.stringMatching(/the chain shows it/)])
  const proposer = contracts.trustlessProposer.toLowerCase()
  expect(await code()).toBe(`0xef0100${proposer.slice(2)}`)
  expect(await data('delegation status')).toMatchObject({
    account,
    chainId: 11_155_111,
    delegate: proposer,
    proposer: 'trustless',
    isAsConfigured: true,
    nestedNonce: '0',
    domain: { name: 'TrustlessProposer', version: '1', chainId: '11155111' },
    verifyingContract: account,
  })
  const nonce = await sepolia<string>(rehearsal, 'eth_getTransactionCount', [account, 'latest'])
  expect(await data('delegation set')).toMatchObject({ ok: true, changed: false })
  expect(await sepolia(rehearsal, 'eth_getTransactionCount', [account, 'latest'])).toBe(nonce)

  expect(await data('delegation clear')).toMatchObject({ ok: true, changed: true })
  expect(await code()).toBe('0x')
  expect(await data('delegation clear')).toMatchObject({ ok: true, changed: false })
  expect((await command('delegation status')).stdout).toMatch(/^proposer +none; the config says/m)
  const key = readFileSync(configOf(rehearsal).wallets.operator.privateKeyFile, 'utf8').trim()
  expect(outputs.filter((output) => mentionsKey(output, key))).toEqual([])
})

test('setup commands refuse to run beside a daemon, which goes on with the state that a deposit began', async () => {
  const rehearsal = await startRehearsal(IDLE)
  const { command } = commandsOf(rehearsal)
  expect((await command('gastank deposit 0.01 --yes')).code).toBe(0)
  const daemon = rehearsal.daemon()
  await daemon.sees(/metrics at/)
  for (const line of ['gastank deposit 0.01 --yes', 'delegation set', 'delegation clear']) {
    const refused = await command(line)
    expect([refused.code, refused.stderr]).toEqual([
      75,
      expect.stringMatching(new RegExp(`held by process ${daemon.pid}`)),
    ])
  }
  expect((await command('gastank status')).code).toBe(0)
  expect((await daemon.stop()).code).toBe(0)
})

test("a halt keeps commands from signing until it is lifted, except for clearing the account's code", async () => {
  const rehearsal = await startRehearsal(IDLE)
  const { command, data } = commandsOf(rehearsal)
  expect((await command('gastank deposit 0.05 --yes')).code).toBe(0)
  expect((await command('delegation set')).code).toBe(0)
  expect((await command('halt')).code).toBe(0)
  expect(await data('delegation clear')).toMatchObject({ ok: true, changed: true })
  for (const line of ['gastank deposit 0.05 --yes', 'delegation set', 'delegation set --direct']) {
    const refused = await command(line)
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/`tranched resume`/)])
  }
  expect((await data('gastank status')).onChain).toEqual(ether(5n * 10n ** 16n))
  expect((await data('delegation status')).code).toBe('0x')
  expect((await command('resume')).code).toBe(0)
  expect((await command('delegation set')).code).toBe(0)
})

test('a service that broadcasts requests unchanged can delegate; the trusted proposer must be named in the config and by a flag', async () => {
  const rehearsal = await startRehearsal(IDLE)
  const { command, data } = commandsOf(rehearsal)
  const { contracts } = configOf(rehearsal).aggregator
  // The chain's own node stands in for such a service.
  editConfig(rehearsal, (config) => {
    config.aggregator.rpcUrl = config.chains.sepolia.rpcUrls[0]
  })
  expect((await command('delegation set')).code).toBe(0)
  expect((await data('delegation status')).proposer).toBe('trustless')

  const unnamed = await command('delegation set --trusted')
  expect([unnamed.code, unnamed.stderr]).toEqual([2, expect.stringMatching(/proposer: trustless/)])
  editConfig(rehearsal, ({ aggregator }) => {
    aggregator.proposer = 'trusted'
  })
  const unflagged = await command('delegation set')
  expect([unflagged.code, unflagged.stderr]).toEqual([2, expect.stringMatching(/--trusted/)])
  // This service needs the sponsored form, which the command never hands out for code without checks.
  const sponsored = await command('delegation set --trusted')
  expect([sponsored.code, sponsored.stderr]).toEqual([
    1,
    expect.stringMatching(/`tranched delegation set --trusted --direct` does it/),
  ])
  expect((await command('delegation set --trusted --direct')).code).toBe(0)
  expect(await data('delegation status')).toMatchObject({
    proposer: 'trusted',
    delegate: contracts.trustedProposer.toLowerCase(),
    isAsConfigured: true,
    verifyingContract: null,
  })
  expect((await command('delegation clear')).code).toBe(0)
  expect((await data('delegation status')).code).toBe('0x')
})

test("the service delegates to the trusted proposer at the account's present nonce", async () => {
  const rehearsal = await startRehearsal(IDLE)
  const { command, data } = commandsOf(rehearsal)
  editConfig(rehearsal, ({ aggregator }) => {
    aggregator.proposer = 'trusted'
  })
  expect((await command('gastank deposit 0.05 --yes')).code).toBe(0)
  expect((await command('delegation set --trusted')).code).toBe(0)
  expect(await data('delegation status')).toMatchObject({ proposer: 'trusted' })
})

test('an account is delegated and cleared by its own transactions, without a deposit', async () => {
  const rehearsal = await startRehearsal(IDLE)
  const { command, data } = commandsOf(rehearsal)
  const { account } = await data('delegation status')
  const nonce = () => sepolia<string>(rehearsal, 'eth_getTransactionCount', [account, 'latest'])
  // Clearing nothing needs no journal and creates none.
  expect(await data('delegation clear --direct')).toMatchObject({ ok: true, changed: false })
  expect(await delegationsOf(rehearsal)).toEqual([])
  const set = await command('delegation set --direct')
  expect([set.code, set.stdout]).toEqual([0, expect.stringMatching(/the chain shows it/)])
  expect(set.stderr).toMatch(/the node accepted it as 0x[0-9a-f]{64}/)
  expect(await data('delegation status')).toMatchObject({ proposer: 'trustless' })
  // The transaction and its authorization use one nonce each.
  expect(await nonce()).toBe('0x2')
  // The new state records the signatures.
  expect(await delegationsOf(rehearsal)).toMatchObject([
    {
      ...{ account, lastNonce: 1 },
      draft: { nonce: 0, authorizationNonce: 1, gas: 100_000n },
    },
  ])
  // A journal that cannot be opened blocks setting code, but not clearing it.
  const key = join(rehearsal.dir, 'config/trader.key')
  renameSync(key, `${key}.away`)
  const cleared = await command('delegation clear --direct')
  expect([cleared.code, cleared.stderr]).toEqual([0, expect.stringMatching(/is not recorded/)])
  expect((await command('delegation set --direct')).code).toBe(78)
  expect(await delegationsOf(rehearsal)).toHaveLength(1)
  renameSync(`${key}.away`, key)
  expect((await command('delegation set --direct')).code).toBe(0)
  expect(await delegationsOf(rehearsal)).toHaveLength(2)
  // Without that state the wallet's anchor blocks setting code, but not clearing it.
  rmSync(rehearsal.stateDir, { recursive: true })
  expect((await command('delegation set --direct')).code).toBe(78)
  expect(await data('delegation clear --direct')).toMatchObject({ ok: true, changed: true })
  expect(await delegationsOf(rehearsal)).toEqual([])
  expect((await data('delegation status')).code).toBe('0x')
})

test('setup refuses the trading wallet, an account with other code, and dry-run mode', async () => {
  const rehearsal = await startRehearsal(IDLE)
  const { command, data } = commandsOf(rehearsal)
  const { account } = await data('delegation status')
  const { demo } = configOf(rehearsal).aggregator.targets
  const foreign = `0xef0100${demo.slice(2).toLowerCase()}`
  const [rpcUrl] = configOf(rehearsal).chains.sepolia.rpcUrls
  await nodeCall({ rpcUrl }, 'anvil_setCode', [account, foreign])
  for (const line of ['delegation set', 'delegation clear']) {
    const refused = await command(line)
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/it is not touched/)])
  }
  expect(await data('delegation status')).toMatchObject({ code: foreign, proposer: null })
  editConfig(rehearsal, (config) => {
    config.mode = 'dry-run'
  })
  const dry = await command('gastank deposit 0.01 --yes')
  expect([dry.code, dry.stderr]).toEqual([1, expect.stringMatching(/mode: live/)])
  editConfig(rehearsal, (config) => {
    config.mode = 'live'
  })

  editConfig(rehearsal, (config) => {
    Object.assign(config.wallets.operator, config.wallets.trader)
  })
  const same = await command('delegation set')
  expect([same.code, same.stderr]).toEqual([
    78,
    expect.stringMatching(/has the same key as the trading wallet/),
  ])
  const copy = join(rehearsal.dir, 'config/copy.key')
  copyFileSync(join(rehearsal.dir, 'config/trader.key'), copy)
  editConfig(rehearsal, (config) => {
    Object.assign(config.wallets.operator, { privateKeyFile: copy })
  })
  const trading = await command('delegation set')
  expect([trading.code, trading.stderr]).toEqual([
    1,
    expect.stringMatching(/also the trading wallet/),
  ])
})
