import { codeText } from '../../../domain/order/contract.ts'
import { type Notification, notification } from '../../wording/notice.ts'
import { type Line, line, type Outputs } from '../output.ts'
import type { ContractCodeContext, ContractCodeEvent } from './contracts.ts'

const STATUS = {
  seen: 'first seen',
  changed: 'changed',
  accepted: 'accepted by an operator',
} as const

export const CONTRACT_OUTPUTS = {
  'contract-code': {
    level: ({ status }) => (status === 'changed' ? 'error' : 'info'),
    line: codeLine,
    notify: codeNotification,
    title: ({ name, status }) => `code of ${name} ${STATUS[status]}`,
  },
} satisfies Partial<Outputs>

function codeLine(
  { name, address, status, code }: ContractCodeEvent,
  { before }: ContractCodeContext,
): Line {
  const now = codeText(code)
  const details = { contract: name, address, status, code: now }
  const was = before === undefined ? '' : `, before ${codeText(before)}`
  const text = {
    seen: `first saw ${name}: ${now}`,
    accepted: `an operator accepted the code of ${name}: ${now}${was}`,
    changed: `the code of ${name} (${address}) changed: ${now}${was}. Nothing that depends on it is signed before \`tranched approve ${name}\``,
  }[status]
  return line(text, details, details)
}

function codeNotification(
  { name, address, status, code }: ContractCodeEvent,
  { before }: ContractCodeContext,
): Notification | undefined {
  if (status === 'seen') return undefined
  const hashes = [
    ...(before === undefined ? [] : [`Before: ${codeText(before)}.`]),
    `Now: ${codeText(code)}.`,
  ]
  if (status === 'accepted')
    return notification('resumed', `The new code of ${name} is accepted`, hashes)
  return notification('approval', `The code of ${name} has changed`, [
    `The contract at ${address} is not what it was when this daemon first saw it.`,
    ...hashes,
    'Nothing that depends on it is signed; what is signed is followed to its end.',
    `Find out who changed it and why. \`tranched approve ${name}\` accepts the new code.`,
  ])
}
