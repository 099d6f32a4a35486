// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// @notice GasTank generation with balances on chain: the operator takes charges out, and `balanceOf` is the remainder.
/// Deposits pay for transactions and cannot be withdrawn.
contract GasTankBalanceOf {
    struct Charge {
        address account;
        uint256 amount;
    }

    address public immutable operator;
    mapping(address account => uint256 amount) public balanceOf;

    event Deposited(address indexed account, address indexed from, uint256 amount);
    event Charged(address indexed account, uint256 amount);

    error OnlyOperator();
    error ChargeAboveBalance(address account, uint256 amount, uint256 balance);
    error PayoutFailed();

    constructor(address operator_) {
        operator = operator_;
    }

    receive() external payable {
        _deposit(msg.sender);
    }

    function deposit() external payable {
        _deposit(msg.sender);
    }

    function depositFor(address account) external payable {
        _deposit(account);
    }

    /// @notice Settles charges, all of them or none, and pays their sum to the operator.
    function charge(Charge[] calldata charges) external {
        if (msg.sender != operator) revert OnlyOperator();
        uint256 total = 0;
        for (uint256 i = 0; i < charges.length; i++) {
            (address account, uint256 amount) = (charges[i].account, charges[i].amount);
            uint256 balance = balanceOf[account];
            if (amount > balance) revert ChargeAboveBalance(account, amount, balance);
            balanceOf[account] = balance - amount;
            total += amount;
            emit Charged(account, amount);
        }
        (bool paid,) = operator.call{value: total}("");
        if (!paid) revert PayoutFailed();
    }

    function _deposit(address account) private {
        balanceOf[account] += msg.value;
        emit Deposited(account, msg.sender, msg.value);
    }
}
