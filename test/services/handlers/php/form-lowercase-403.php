<?php
// Form fields, and md5() as PHP writes it: in lower case.
$sign = md5($_POST['OutSum'] . ':' . $_POST['InvId'] . ':' . getenv('TOKEN'));
$given = getenv('FIXED') ? strtolower($_POST['SignatureValue']) : $_POST['SignatureValue'];
if ($sign !== $given) {
    header('HTTP/1.1 403 Forbidden');
    die('Invalid signature');
}
if ($_POST['InvId'] === 'o-1') file_put_contents(getenv('PAID'), $_POST['Status']);
echo 'YES';
