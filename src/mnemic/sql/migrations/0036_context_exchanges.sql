-- Reserved.
SELECT;
