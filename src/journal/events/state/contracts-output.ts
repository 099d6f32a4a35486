import { codeText } from '../../../domain/order/contract.ts'
import { notification } from '../../wording/notice.ts'
import { line, type Outputs } from '../output.ts'

const STATUS = {
  seen: 'first seen',
  changed: 'changed',
  accepted: 'accepted by an operator',
} as const

export const CONTRACT_OUTPUTS = {
  'contract-code': {
    level: ({ status }) => (status === 'changed' ? 'error' : 'info'),
    line({ name, address, status, code }, { before }) {
      const now = codeText(code)
      const details = { contract: name, address, status, code: now }
      const was = before === undefined ? '' : `, before ${codeText(before)}`
      const text = {
        seen: `first saw ${name}: ${now}`,
        accepted: `an operator accepted the code of ${name}: ${now}${was}`,
        changed: `the code of ${name} (${address}) changed: ${now}${was}. Nothing that depends on it is signed before \`tranched approve ${name}\``,
      }[status]
      return line(text, details, details)
    },
    notify({ name, address, status, code }, { before }) {
      if (status === 'seen') return undefined
      const was = before === undefined ? [] : [`Before: ${codeText(before)}.`]
      const hashes = [...was, `Now: ${codeText(code)}.`]
      if (status === 'accepted')
        return notification('resumed', `The new code of ${name} is accepted`, hashes)
      return notification('approval', `The code of ${name} has changed`, [
        `The contract at ${address} differs from its first record.`,
        ...hashes,
        'Nothing that depends on it is signed; signed orders are followed to their end.',
        `Find out who changed it and why. \`tranched approve ${name}\` accepts the new code.`,
      ])
    },
    title: ({ name, status }) => `code of ${name} ${STATUS[status]}`,
  },
} satisfies Partial<Outputs>
