import { expect, test } from 'vitest'
import type { Evidence } from '../../src/venues/manual/manual-evidence.ts'
import { outputOf } from '../support/output-of.ts'
import { run } from '../support/process/cli.ts'
import { waitFor } from '../support/wait-for.ts'
import { IDLE, STRATEGY, writeClaims } from './claims.ts'
import { setUpAccount } from './operator.ts'
import { startRehearsal } from './rehearsal.ts'

test('a trusted call that never executes can be declared dead only after its delegation is cleared', async () => {
  const operator = await setUpAccount(await startRehearsal(IDLE))
  const { rehearsal, command } = operator
  operator.edit((config) => Object.assign(config.aggregator, { proposer: 'trusted' }))
  await command('delegation set --trusted')
  await rehearsal.fault([{ kind: 'neverIncluded' }])
  writeClaims(operator, { limits: { maxOpenIntents: 1 } })
  const daemon = rehearsal.daemon()
  await daemon.sees(/placed claim-often/)
  await daemon.sees(/claim-often .*waits \(too-many-open\)/)
  await daemon.killHard()
  const status = JSON.parse((await command('status --json')).trim()) as {
    readonly openIntents: readonly { readonly intentId: string }[]
  }
  const [{ intentId: id } = { intentId: '' }] = status.openIntents
  const settle = (...more: readonly string[]) =>
    run(['settle', id, '--config', rehearsal.config, ...more])

  const early = await settle('--as', 'dead', '--yes', '--json')
  expect([early.code, outputOf('settle', early.stdout)]).toMatchObject([
    1,
    { reason: 'still-live' },
  ])
  await command('delegation clear --direct')
  // Until the clearing is as deep as the config requires.
  await waitFor('evidence of its death', async () => {
    const { answers } = outputOf<Evidence>('settle', (await settle('--json')).stdout)
    return answers.find(({ as }) => as === 'dead')?.isPossible
  })
  const settled = await settle('--as', 'dead', '--yes', '--json')
  expect(outputOf('settle', settled.stdout)).toMatchObject({
    ok: true,
    by: 'word',
    as: 'dead',
    evidence: {
      signed: { kind: 'trusted call', nonce: null, deadlineAt: null },
      chain: {
        says: 'other code stands behind the account, and something else used the nonce of its transaction',
      },
    },
  })
  const again = rehearsal.daemon()
  await again.sees(new RegExp(`failed ${STRATEGY}: settled`))
  expect((await again.stop()).code).toBe(0)
})
